package generator

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func configMaps(view *v1.MarkdownView, shards []shard) []*corev1ac.ConfigMapApplyConfiguration {
	list := make([]*corev1ac.ConfigMapApplyConfiguration, 0, len(shards))
	for _, s := range shards {
		list = append(list, configMap(view, s))
	}
	return list
}

func configMap(view *v1.MarkdownView, s shard) *corev1ac.ConfigMapApplyConfiguration {
	data, binaryData := make(map[string]string, len(s.entries)+1), map[string][]byte{}
	for _, e := range s.entries {
		if isText(e.content) {
			data[e.key] = string(e.content)
		} else {
			binaryData[e.key] = e.content
		}
	}
	data[revisionKey(s.revision)] = s.revision

	common := CommonMetadata(view)
	object := corev1ac.ConfigMap(PagesName(view.Name, s.index), "").
		WithLabels(common.Labels).
		WithAnnotations(common.Annotations).
		WithData(data)
	if len(binaryData) > 0 {
		object.WithBinaryData(binaryData)
	}
	object.Namespace = namespaceOf(view)
	return object
}

// isText reports whether content goes into data. It has to be UTF-8; control
// characters other than line ends and tabs would swell to six bytes each in
// JSON, and past what the API server reads. The API server takes what is applied for
// YAML, which doesn't know U+FFFE, U+FFFF and most of the C1 control characters, and
// reads the one that it knows, U+0085, as a line end.
func isText(content []byte) bool {
	special := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' || r == '\ufffe' || r == '\uffff'
	}
	return utf8.Valid(content) && !bytes.ContainsFunc(content, special)
}
