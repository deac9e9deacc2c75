package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// FuzzPatch has anything patch an object that has a bit of everything.
func FuzzPatch(f *testing.F) {
	for _, text := range []string{
		"", "a", "[]", "{}", "- a", "---\n---\n", "a: &a [*a]", "<<: {a: b}", "a: &a {b: c}\nd:\n  <<: *a",
		"spec: {template: {spec: {containers: [{name: mdbook, $patch: delete}]}}}",
		"spec: {template: {spec: {containers: [{name: a}, {$patch: replace}]}}}",
		"spec: {template: {spec: {$setElementOrder/containers: [{name: mdbook}], $retainKeys: [a]}}}",
		"spec: {template: {spec: {containers: [{name: mdbook, ports: [{containerPort: 3000}, {protocol: UDP}, {}], args: {}}]}}}",
		"$patch: delete", "$patch: replace", "kind: List\nitems: [{kind: Service}]", "? [a]\n: b", "? {a: b}", "!!binary a: !x b",
		"metadata: {annotations: null, labels: [], name: {}}\nkind: {}\napiVersion: []",
		"- {op: add, path: /a, value: b}", "- {op: copy, from: '', path: /metadata/labels/a}\n- {op: move, from: /metadata, path: /metadata/a}",
		"- {op: test, path: '', value: null}", "- {op: remove, path: ''}", "- {op: replace, path: ''}", "- {op: add, path: /spec/template/spec/containers/-1/args/-, value: 1}",
		`[{"op": "add", "path": "/~0~1~", "value": {"a": null}}]`, `[{"op": null}]`, `[null]`, `[{"op": "test", "path": 1}]`, `[{"op":"copy","from":"/spec","path":"/spec/-"}]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 32768 {
			return
		}
		hangs := time.AfterFunc(10*time.Second, func() { panic(fmt.Sprintf("it doesn't end: %q", text)) })
		defer hangs.Stop()
		object := deployment(t)
		before, _ := json.Marshal(object)
		fuzzPatch(t, text, object)
		if after, _ := json.Marshal(object); !bytes.Equal(after, before) {
			t.Errorf("the object was changed:\n%s\n%s", before, after)
		}
	})
}

func fuzzPatch(t *testing.T, text string, object map[string]any) {
	t.Helper()
	budget := NewBudget()
	parsed, err := Parse(text, budget)
	if err != nil {
		checkMessage(t, err)
		return
	}
	var patched map[string]any
	if parsed.IsJSON() {
		parsed.Pointers()
		patched, err = parsed.ApplyJSON(object, budget)
	} else {
		parsed.Merges[0].Names("data")
		patched, err = parsed.Merges[0].Apply(object)
	}
	if err != nil {
		checkMessage(t, err)
		return
	}
	if _, err := json.Marshal(patched); err != nil {
		t.Error(err)
	}
}

func checkMessage(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); len(text) > 500 || strings.Contains(text, "\n") || strings.Contains(text, "PANIC") {
		t.Errorf("the message is %q", text)
	}
}

func deployment(t *testing.T) map[string]any {
	t.Helper()
	var object map[string]any
	err := json.Unmarshal([]byte(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "viewer-docs", "namespace": "docs", "labels": {"a": "b"}},
		"spec": {"paused": true, "template": {"spec": {"tolerations": [{"key": "a"}], "containers": [{"name": "mdbook", "args": ["serve"],
		"env": [{"name": "A", "value": "b"}], "ports": [{"name": "http", "protocol": "TCP"}]}]}}}}`), &object)
	if err != nil {
		t.Fatal(err)
	}
	return object
}
