package e2e

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestPodsRunWhereTheRestrictedStandardIsEnforced(t *testing.T) {
	f := newFixture(t)
	f.restrict()
	view := f.serve("Restricted")

	t.Run("what the function prints is admitted without warnings", func(t *testing.T) {
		other := view.DeepCopy()
		other.ObjectMeta = f.view("built", nil).ObjectMeta
		out := f.kubectlWith(f.expand(other), "apply", "--server-side", "-f", "-")
		if strings.Contains(strings.ToLower(out), "warning") {
			t.Errorf("kubectl apply says:\n%s", out)
		}
		f.kubectl("rollout", "status", "deployment/viewer-built", "--timeout=2m")
	})

	pod := f.pod().Name
	status := f.kubectl("exec", pod, "--", "cat", "/proc/1/status")
	for name, want := range map[string]string{
		"Uid": "65532\t65532\t65532\t65532", "Gid": "65532\t65532\t65532\t65532",
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapBnd": "0000000000000000",
		"NoNewPrivs": "1", "Seccomp": "2",
	} {
		if got := field(status, name); got != want {
			t.Errorf("%s of mdBook in /proc is %q, want %q", name, got, want)
		}
	}
	for what, command := range map[string]string{
		"writing to the root file system": "touch /new",
		"writing to the pages":            "touch /book/src/new",
		"reading a token":                 "ls /var/run/secrets/kubernetes.io",
	} {
		if out, err := kubectl(t.Context(), "-n", f.namespace, "exec", pod, "--", "sh", "-c", command); err == nil {
			t.Errorf("%s worked: %s", what, out)
		}
	}
}

// restrict has the namespace enforce the restricted Pod Security Standard.
func (f *fixture) restrict() {
	f.Helper()
	namespace := &corev1.Namespace{}
	namespace.Name = f.namespace
	labels := `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/warn":"restricted"}}}`
	if err := admin.Patch(f.Context(), namespace, client.RawPatch(types.MergePatchType, []byte(labels))); err != nil {
		f.Fatal(err)
	}
}

// expand returns what the function prints for a view.
func (f *fixture) expand(view *v1.MarkdownView) string {
	f.Helper()
	view = view.DeepCopy()
	view.SetGroupVersionKind(v1.GroupVersion.WithKind(v1.Kind))
	view.Status, view.ManagedFields, view.UID, view.ResourceVersion = v1.MarkdownViewStatus{}, nil, "", ""
	manifest, err := yaml.Marshal(view)
	if err != nil {
		f.Fatal(err)
	}
	out, err := function(f.Context(), "", string(manifest))
	if err != nil {
		f.Fatal(err)
	}
	return out
}

// field reads one of /proc/<pid>/status.
func field(status, name string) string {
	for line := range strings.Lines(status) {
		if key, value, found := strings.Cut(line, ":"); found && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// function runs the function by hand, in a folder.
func function(ctx context.Context, folder, manifest string) (string, error) {
	return output(ctx, folder, manifest, tool("fn"), "-")
}
