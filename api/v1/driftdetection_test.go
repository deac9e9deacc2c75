package v1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ignoring returns a view that leaves fields of the objects of a kind to others.
func ignoring(kind string, paths ...string) *MarkdownView {
	return &MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec: MarkdownViewSpec{
			Markdowns:      map[string]string{"a.md": ""},
			DriftDetection: &DriftDetection{Ignore: []IgnoreRule{{Target: PatchTarget{Kind: kind}, Paths: paths}}},
		},
	}
}

func TestValidateIgnoredPaths(t *testing.T) {
	const at = "spec.driftDetection.ignore[0]."
	tests := map[string]struct {
		kind  string // "Deployment" if empty
		paths []string
		want  []string // what the messages begin with
	}{
		"fields that others may have": {paths: []string{
			"/spec/replicas", "/spec/strategy", "/metadata/annotations/example.com~1team", "/metadata/labels/team", "/spec/template/spec/containers/0/resources",
			"/spec/template/spec/containers/0/env/0", "/spec/template/spec/containers/0/env", "/spec/template/spec/containers/0/ports/0/name",
			"/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt", "/spec/minReadySeconds",
		}},
		"fields of a Service": {kind: "Service", paths: []string{"/spec/type", "/spec/ports/0/nodePort", "/spec/ports/0/targetPort"}},
		"no pointer": {paths: []string{"spec/replicas", "", "/", "//", "/spec/", "/spec//replicas"}, want: []string{
			at + `paths[0]: Invalid value: "spec/replicas": must be a JSON pointer, such as "/spec/replicas"`,
			at + `paths[1]: Invalid value: "": must be a JSON pointer`,
			at + `paths[2]: Invalid value: "/": must be a JSON pointer without empty parts`,
			at + `paths[3]: Invalid value: "//": must`,
			at + `paths[4]: Invalid value: "/spec/": must`,
			at + `paths[5]: Invalid value: "/spec//replicas": must`,
		}},
		"a wrong escape": {paths: []string{"/metadata/annotations/a~2b", "/metadata/annotations/a~", "/metadata/annotations/~01"}, want: []string{
			at + `paths[0]: Invalid value: "/metadata/annotations/a~2b": must hold "~" only as`,
			at + `paths[1]: Invalid value: "/metadata/annotations/a~": must hold "~" only as`,
		}},
		"the entry after the last": {paths: []string{"/spec/template/spec/containers/-"}, want: []string{at + `paths[0]: Invalid value: "/spec/template/spec/containers/-": must not hold "-"`}},
		"what keeps a promise": {
			paths: []string{
				"/kind", "/metadata", "/metadata/name", "/metadata/ownerReferences/0", "/metadata/labels", "/metadata/labels/app.kubernetes.io~1instance",
				"/spec", "/spec/selector/matchLabels", "/spec/template", "/spec/template/metadata/annotations/view.zoetrope.github.io~1revision",
				"/spec/template/spec/volumes/0/configMap/items", "/spec/template/spec/containers", "/spec/template/spec/containers/0",
				"/spec/template/spec/containers/0/image", "/spec/template/spec/containers/0/env/1/name", "/spec/template/spec/initContainers/0/args",
			},
			want: []string{
				at + `paths[0]: Invalid value: "/kind": must not be, hold or be within /kind, which can't be left to others: it says which object this is`,
				at + `paths[1]: Invalid value: "/metadata"`,
				at + `paths[2]: Invalid value: "/metadata/name"`,
				at + `paths[3]: Invalid value: "/metadata/ownerReferences/0": must not be, hold or be within /metadata/ownerReferences`,
				at + `paths[4]: Invalid value: "/metadata/labels"`,
				at + `paths[5]: Invalid value: "/metadata/labels/app.kubernetes.io~1instance": must not be, hold or be within /metadata/labels/app.kubernetes.io~1instance`,
				at + `paths[6]: Invalid value: "/spec"`,
				at + `paths[7]: Invalid value: "/spec/selector/matchLabels"`,
				at + `paths[8]: Invalid value: "/spec/template"`,
				at + `paths[9]: Invalid value: "/spec/template/metadata/annotations/view.zoetrope.github.io~1revision"`,
				at + `paths[10]: Invalid value: "/spec/template/spec/volumes/0/configMap/items"`,
				at + `paths[11]: Invalid value: "/spec/template/spec/containers"`,
				at + `paths[12]: Invalid value: "/spec/template/spec/containers/0"`,
				at + `paths[13]: Invalid value: "/spec/template/spec/containers/0/image": must not be, hold or be within /spec/template/spec/containers/*/image, which can't be left to others: no pod can be made without it`,
				at + `paths[14]: Invalid value: "/spec/template/spec/containers/0/env/1/name"`,
				at + `paths[15]: Invalid value: "/spec/template/spec/initContainers/0/args"`,
			},
		},
		"pages": {kind: "ConfigMap", paths: []string{"/data/start.md", "/binaryData"}, want: []string{
			at + `paths[0]: Invalid value: "/data/start.md": must not be, hold or be within /data, which can't be left to others: the pages are in it`,
			at + `paths[1]: Invalid value: "/binaryData"`,
		}},
		"what a Service can't be without": {kind: "Service", paths: []string{"/spec/ports", "/spec/ports/0", "/spec/selector"}, want: []string{
			at + `paths[0]: Invalid value: "/spec/ports"`, at + `paths[1]: Invalid value: "/spec/ports/0"`, at + `paths[2]: Invalid value: "/spec/selector"`,
		}},
		"a kind that isn't generated": {kind: "Secret", paths: []string{"/data"}, want: []string{at + `target.kind: Unsupported value: "Secret": supported values: "ConfigMap", "Deployment", "Service"`}},
		"no path":                     {paths: nil, want: []string{at + `paths: Required value: name the fields`}},
		"a path that is too long": {paths: []string{"/" + strings.Repeat("é", 512)}, want: []string{
			at + `paths[0]: Too long: may not be more than 512 characters`,
		}},
		"more paths than there may be": {paths: make([]string, 17), want: []string{at + `paths: Too many: 17: must have at most 16 items`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kind := test.kind
			if kind == "" {
				kind = "Deployment"
			}
			var got []string
			for i, err := range ignoring(kind, test.paths...).Validate() {
				message := err.Error()
				if i < len(test.want) && strings.HasPrefix(message, test.want[i]) {
					message = test.want[i]
				}
				got = append(got, message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateDriftDetection(t *testing.T) {
	tests := map[string]struct {
		detection DriftDetection
		want      string
	}{
		"nothing is said": {},
		"another mode":    {detection: DriftDetection{Mode: "warn"}, want: `spec.driftDetection.mode: Unsupported value: "warn": supported values: "Enabled", "Warn", "Disabled"`},
		"a name that is no pattern": {
			detection: DriftDetection{Ignore: []IgnoreRule{{Target: PatchTarget{Kind: "Service", Name: "("}, Paths: []string{"/spec/type"}}}},
			want:      `spec.driftDetection.ignore[0].target.name: Invalid value: "(": must be the name of an object, or a regular expression for names`,
		},
		"more rules than there may be": {
			detection: DriftDetection{Ignore: make([]IgnoreRule, 17)},
			want:      "spec.driftDetection.ignore: Too many: 17: must have at most 16 items",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := ignoring("Service", "/spec/type")
			view.Spec.DriftDetection = &test.detection
			got := ""
			if errs := view.Validate(); len(errs) > 0 {
				got = errs.ToAggregate().Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIgnoredPaths(t *testing.T) {
	view := ignoring("Deployment", "/spec/replicas", "/spec/selector", "oops", "/metadata/annotations/a~1b~0c")
	view.Spec.DriftDetection.Ignore = append(view.Spec.DriftDetection.Ignore,
		IgnoreRule{Target: PatchTarget{Kind: "ConfigMap", Name: `markdowns-a\.[0-9]+`}, Paths: []string{"/metadata/labels/x"}})
	tests := map[string]struct {
		kind, name string
		want       [][]string
	}{
		"a kind, without what can't be ignored": {kind: "Deployment", name: "viewer-a", want: [][]string{{"spec", "replicas"}, {"metadata", "annotations", "a/b~c"}}},
		"another kind of the same name":         {kind: "Service", name: "viewer-a"},
		"a name that matches":                   {kind: "ConfigMap", name: "markdowns-a.1", want: [][]string{{"metadata", "labels", "x"}}},
		"a name that matches in part":           {kind: "ConfigMap", name: "markdowns-a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, view.IgnoredPaths(test.kind, test.name)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDriftMode(t *testing.T) {
	view := &MarkdownView{}
	if got := view.DriftMode(); got != DriftDetectionEnabled {
		t.Errorf("of a view that says nothing it is %q", got)
	}
	detection := &DriftDetection{}
	view.Spec.DriftDetection = detection
	view.Default()
	if got := view.Spec.DriftDetection.Mode; got != DriftDetectionEnabled {
		t.Errorf("the default is %q", got)
	}
	if detection.Mode != "" {
		t.Error("the default is set in what other views share")
	}
}
