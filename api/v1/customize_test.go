package v1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidateCommonMetadataAndPatches(t *testing.T) {
	const badKey = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	const reserved = ": Forbidden: the key is reserved: use one of your own, such as example.com/team"
	many := make([]Patch, 33)
	for i := range many {
		many[i].Patch = "{}"
	}
	tests := map[string]struct {
		metadata *CommonMetadata
		patches  []Patch
		want     []string
	}{
		"labels and annotations of one's own": {
			metadata: &CommonMetadata{
				Labels:      map[string]string{"team": "docs", "example.com/tier": "", "app.kubernetes.io/part-of": "handbook", "istio.io/rev": "stable"},
				Annotations: map[string]string{"example.com/Owner": "The docs team", "kustomize.toolkit.fluxcd.io/substitute": "disabled"},
			},
		},
		"labels that the selector is made of": {
			metadata: &CommonMetadata{Labels: map[string]string{"app.kubernetes.io/name": "a", "app.kubernetes.io/instance": "a", "app.kubernetes.io/created-by": "a", "pod-template-hash": "a"}},
			want: []string{
				"spec.commonMetadata.labels[app.kubernetes.io/created-by]" + reserved, "spec.commonMetadata.labels[app.kubernetes.io/instance]" + reserved,
				"spec.commonMetadata.labels[app.kubernetes.io/name]" + reserved, "spec.commonMetadata.labels[pod-template-hash]" + reserved,
			},
		},
		"labels by which Flux says what it has applied": {
			metadata: &CommonMetadata{Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "a", "helm.toolkit.fluxcd.io/namespace": "a", "reconcile.fluxcd.io/watch": "Enabled"}},
			want: []string{
				"spec.commonMetadata.labels[helm.toolkit.fluxcd.io/namespace]" + reserved, "spec.commonMetadata.labels[kustomize.toolkit.fluxcd.io/name]" + reserved,
			},
		},
		"annotations that mean something to us, to kustomize and to kubectl": {
			metadata: &CommonMetadata{Annotations: map[string]string{
				"view.zoetrope.github.io/revision": "a", "config.kubernetes.io/local-config": "true", "kubectl.kubernetes.io/last-applied-configuration": "{}",
			}},
			want: []string{
				"spec.commonMetadata.annotations[config.kubernetes.io/local-config]" + reserved,
				"spec.commonMetadata.annotations[kubectl.kubernetes.io/last-applied-configuration]" + reserved,
				"spec.commonMetadata.annotations[view.zoetrope.github.io/revision]" + reserved,
			},
		},
		"what Kubernetes takes for no label and no annotation": {
			metadata: &CommonMetadata{Labels: map[string]string{"a b": "", "team": "the docs team"}, Annotations: map[string]string{"-": ""}},
			want: []string{
				`spec.commonMetadata.labels[a b]: Invalid value: "a b": ` + badKey,
				`spec.commonMetadata.labels[team]: Invalid value: "the docs team": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
				`spec.commonMetadata.annotations[-]: Invalid value: "-": ` + badKey,
			},
		},
		"too much of it": {
			metadata: &CommonMetadata{Annotations: map[string]string{"a": strings.Repeat("a", 40000), "b": strings.Repeat("b", 40000)}},
			want:     []string{"spec.commonMetadata.annotations: Too long: may not be more than 65536 bytes"},
		},
		"patches": {
			patches: []Patch{
				{Patch: "kind: Service\nmetadata: {name: viewer-a}"},
				{Patch: "{}", Target: &PatchTarget{Kind: "ConfigMap", Name: `markdowns-a(\.\d+)?`}},
			},
		},
		"too many patches": {patches: many, want: []string{"spec.patches: Too many: 33: must have at most 32 items: make one of several"}},
		"patches that can't be": {
			patches: []Patch{
				{Patch: " \n"},
				{Patch: strings.Repeat("é", 32769)},
				{Patch: "{}", Target: &PatchTarget{Kind: "Pod"}},
				{Patch: "{}", Target: &PatchTarget{Kind: "Service", Name: "("}},
			},
			want: []string{
				"spec.patches[0].patch: Required value: write a strategic merge patch or a JSON patch, or drop the entry",
				"spec.patches[1].patch: Too long: may not be more than 32768 characters",
				`spec.patches[2].target.kind: Unsupported value: "Pod": supported values: "ConfigMap", "Deployment", "Service"`,
				"spec.patches[3].target.name: Invalid value: \"(\": is no regular expression: error parsing regexp: missing closing ): `^(?:()$`",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := MarkdownView{Spec: MarkdownViewSpec{Markdowns: map[string]string{"SUMMARY.md": ""}, CommonMetadata: test.metadata, Patches: test.patches}}
			view.Name = "a"
			var got []string
			for _, err := range view.Validate() {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
