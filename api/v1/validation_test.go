package v1

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const notASubdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
	"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

func TestValidate(t *testing.T) {
	one, minusOne := int32(1), int32(-1)
	configMap, directory := &ConfigMapSource{Name: "pages"}, &DirectorySource{Path: "./docs"}
	long := strings.Repeat("é", 1024)
	tests := map[string]struct {
		name string // "" for "a"
		spec MarkdownViewSpec
		want []string
	}{
		"inline pages": {
			spec: MarkdownViewSpec{Markdowns: map[string]string{"SUMMARY.md": ""}},
		},
		"everything": {
			spec: MarkdownViewSpec{
				Markdowns:   map[string]string{"a.md": ""},
				ContentFrom: []ContentSource{{ConfigMapRef: configMap}, {Directory: directory}},
				BookToml:    "[book]", Replicas: &one, ViewerImage: "example.com/mdbook:v1",
			},
		},
		"one of Flux's sources": {
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{
				{SourceRef: &SourceReference{Kind: GitRepositoryKind, Name: "handbook"}},
				{SourceRef: &SourceReference{Kind: ExternalArtifactKind, Name: "a.b", Namespace: "docs", Path: "./docs/handbook"}},
			}},
		},
		"a source of a kind that Flux doesn't have": {
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{{SourceRef: &SourceReference{Kind: "HelmChart", Name: "handbook"}}}},
			want: []string{`spec.contentFrom[0].sourceRef.kind: Unsupported value: "HelmChart": supported values: "GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"`},
		},
		"a source without a kind and a name": {
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{{SourceRef: &SourceReference{}}}},
			want: []string{
				`spec.contentFrom[0].sourceRef.kind: Unsupported value: "": supported values: "GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"`,
				"spec.contentFrom[0].sourceRef.name: Required value: name the source that holds the pages",
			},
		},
		"a source with names that no object has": {
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{{SourceRef: &SourceReference{Kind: GitRepositoryKind, Name: "a/b", Namespace: "a.b"}}}},
			want: []string{
				`spec.contentFrom[0].sourceRef.name: Invalid value: "a/b": ` + notASubdomain,
				`spec.contentFrom[0].sourceRef.namespace: Invalid value: "a.b": must not contain dots`,
			},
		},
		"a source's folder outside of it": {
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{
				{SourceRef: &SourceReference{Kind: GitRepositoryKind, Name: "handbook", Path: "../docs"}},
				{SourceRef: &SourceReference{Kind: GitRepositoryKind, Name: "handbook", Path: "/docs"}},
			}},
			want: []string{
				`spec.contentFrom[0].sourceRef.path: Invalid value: "../docs": must stay below the artifact's root`,
				`spec.contentFrom[1].sourceRef.path: Invalid value: "/docs": must be relative to the artifact's root`,
			},
		},
		"a ConfigMap and a source at once": {
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{{ConfigMapRef: configMap, SourceRef: &SourceReference{Kind: GitRepositoryKind, Name: "handbook"}}}},
			want: []string{"spec.contentFrom[0]: Forbidden: configMapRef and sourceRef are set: set exactly one, and add an entry for the other"},
		},
		"the longest name": {
			name: strings.Repeat("a", 56),
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{{ConfigMapRef: configMap}}},
		},
		"a name that a Service can't have": {
			name: strings.Repeat("a", 57),
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{{ConfigMapRef: configMap}}},
			want: []string{"metadata.name: Too long: may not be more than 56 bytes"},
		},
		"a name with a dot": {
			name: "a.b",
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{{ConfigMapRef: configMap}}},
			want: []string{`metadata.name: Invalid value: "a.b": must not contain dots`},
		},
		"no pages": {
			want: []string{"spec: Required value: no pages: set markdowns, contentFrom or both"},
		},
		"bad paths, in their order": {
			spec: MarkdownViewSpec{Markdowns: map[string]string{"b/../c": "", "/a": "", "good.md": "", strings.Repeat("é", 400): ""}},
			want: []string{
				`spec.markdowns: Invalid value: "/a": must be relative: drop the leading "/"`,
				`spec.markdowns: Invalid value: "b/../c": must not contain "..": only files of the book itself can be pages`,
				`spec.markdowns: Invalid value: "` + strings.Repeat("é", 60) + `…": each file or folder name must have at most 240 bytes, "éééééééééééééééé"… has 800: shorten it`,
			},
		},
		"a source without a member": {
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{{ConfigMapRef: configMap}, {}}},
			want: []string{"spec.contentFrom[1]: Required value: set exactly one of configMapRef, directory and sourceRef"},
		},
		"a source with two members": {
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{{ConfigMapRef: configMap, Directory: directory}}},
			want: []string{"spec.contentFrom[0]: Forbidden: configMapRef and directory are set: set exactly one, and add an entry for the other"},
		},
		"a ConfigMap without a name": {
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{{ConfigMapRef: &ConfigMapSource{}}}},
			want: []string{"spec.contentFrom[0].configMapRef.name: Required value: name the ConfigMap that holds the pages"},
		},
		"a ConfigMap's name that can't be": {
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{{ConfigMapRef: &ConfigMapSource{Name: "a/b"}}}},
			want: []string{`spec.contentFrom[0].configMapRef.name: Invalid value: "a/b": ` + notASubdomain},
		},
		"directories": {
			spec: MarkdownViewSpec{ContentFrom: []ContentSource{
				{Directory: &DirectorySource{Path: ""}}, {Directory: &DirectorySource{Path: "/srv"}}, {Directory: &DirectorySource{Path: "a/../../b"}},
				{Directory: &DirectorySource{Path: "a\x00"}}, {Directory: &DirectorySource{Path: "./a/../b"}}, {Directory: &DirectorySource{Path: "."}},
			}},
			want: []string{
				`spec.contentFrom[0].directory.path: Required value: name the folder that holds the pages, such as "./docs"`,
				`spec.contentFrom[1].directory.path: Invalid value: "/srv": must be relative to the working directory`,
				`spec.contentFrom[2].directory.path: Invalid value: "a/../../b": must stay below the working directory`,
				`spec.contentFrom[3].directory.path: Invalid value: "a\x00": must not contain a NUL character`,
			},
		},
		"fewer than no replicas": {
			spec: MarkdownViewSpec{Markdowns: map[string]string{"a.md": ""}, Replicas: &minusOne},
			want: []string{"spec.replicas: Invalid value: -1: must be 0 or more"},
		},
		"more replicas than a Deployment is asked for": {
			spec: MarkdownViewSpec{Markdowns: map[string]string{"a.md": ""}, Replicas: new(int32(1001))},
			want: []string{"spec.replicas: Invalid value: 1001: must be at most 1000"},
		},
		"a timeout that never ends": {
			spec: MarkdownViewSpec{Markdowns: map[string]string{"a.md": ""}, Timeout: &metav1.Duration{Duration: 9999 * time.Hour}},
			want: []string{`spec.timeout: Invalid value: "9999h": must be at most 24h`},
		},
		"an interval of nothing": {
			spec: MarkdownViewSpec{Markdowns: map[string]string{"a.md": ""}, Interval: &metav1.Duration{}},
			want: []string{`spec.interval: Invalid value: "0s": must be at least 1s`},
		},
		"an image with white space": {
			spec: MarkdownViewSpec{Markdowns: map[string]string{"a.md": ""}, ViewerImage: "a b\n"},
			want: []string{`spec.viewerImage: Invalid value: "a b\n": must not contain white space`},
		},
		"a service account of another namespace": {
			spec: MarkdownViewSpec{Markdowns: map[string]string{"a.md": ""}, ServiceAccountName: "docs/Deployer"},
			want: []string{`spec.serviceAccountName: Invalid value: "docs/Deployer": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		},
		"a service account": {
			spec: MarkdownViewSpec{Markdowns: map[string]string{"a.md": ""}, ServiceAccountName: "docs.deployer-1"},
		},
		"as much as there may be": {
			spec: MarkdownViewSpec{
				Markdowns:   numbered(1000),
				ContentFrom: slices.Repeat([]ContentSource{{Directory: &DirectorySource{Path: long, Ignore: strings.Repeat("é", 65536)}}}, 64),
				ViewerImage: long,
			},
		},
		"more than there may be": {
			spec: MarkdownViewSpec{
				Markdowns: numbered(1001),
				ContentFrom: []ContentSource{
					{Directory: &DirectorySource{Path: long + "é", Ignore: strings.Repeat("é", 65537)}},
					{SourceRef: &SourceReference{Kind: GitRepositoryKind, Name: "a", Path: long + "é"}},
				},
				ViewerImage: long + "é",
			},
			want: []string{
				"spec.markdowns: Too many: 1001: must have at most 1000 items: put others into ConfigMaps or a folder, which contentFrom names",
				"spec.contentFrom[0].directory.ignore: Too long: may not be more than 65536 characters",
				"spec.contentFrom[0].directory.path: Too long: may not be more than 1024 characters",
				"spec.contentFrom[1].sourceRef.path: Too long: may not be more than 1024 characters",
				"spec.viewerImage: Too long: may not be more than 1024 characters",
			},
		},
		"more sources than there may be": {
			spec: MarkdownViewSpec{ContentFrom: slices.Repeat([]ContentSource{{ConfigMapRef: configMap}}, 65)},
			want: []string{"spec.contentFrom: Too many: 65: must have at most 64 items: put the pages of several into one"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: test.spec}
			if test.name != "" {
				view.Name = test.name
			}
			before := view.DeepCopy()
			var got []string
			for _, err := range view.Validate() {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, &view); diff != "" {
				t.Errorf("Validate changes the view: %s", diff)
			}
		})
	}
}

func TestValidateANamespaceThatCantBe(t *testing.T) {
	view := MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "../x"},
		Spec:       MarkdownViewSpec{Markdowns: map[string]string{"a.md": ""}},
	}
	errs := view.Validate()
	if len(errs) == 0 || errs[0].Field != "metadata.namespace" {
		t.Errorf("got %v", errs)
	}
}

func TestValidateWithoutAName(t *testing.T) {
	view := MarkdownView{Spec: MarkdownViewSpec{Markdowns: map[string]string{"a.md": ""}}}
	const want = "metadata.name: Required value: name the view: its objects are called markdowns-<name> and viewer-<name>"
	if diff := cmp.Diff(want, view.Validate().ToAggregate().Error()); diff != "" {
		t.Error(diff)
	}
}

func TestDefault(t *testing.T) {
	five := int32(5)
	empty := MarkdownView{}
	empty.Default()
	if got := *empty.Spec.Replicas; got != DefaultReplicas {
		t.Errorf("replicas = %d", got)
	}
	set := MarkdownView{Spec: MarkdownViewSpec{Replicas: &five}}
	set.Default()
	if got := *set.Spec.Replicas; got != 5 {
		t.Errorf("replicas = %d, want what was set", got)
	}
}

func numbered(count int) map[string]string {
	pages := map[string]string{}
	for i := range count {
		pages[fmt.Sprintf("%d.md", i)] = ""
	}
	return pages
}
