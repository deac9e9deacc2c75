package fluxe2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
)

const mebibyte = 1 << 20

// mostMemory is the controller's limit in config/manager.
const mostMemory = 1024 * mebibyte

// TestHostileArchives has somebody else's controller offer archives, as
// ExternalArtifacts, that are made to do harm.
func TestHostileArchives(t *testing.T) {
	f := newCluster(t)
	f.must(f.flux.ApplyCRDs(t.Context()))
	controller, err := f.RunController(t.Context(), "controller")
	f.must(err)
	good := archive(t, file("SUMMARY.md", "- [Start](start.md)\n"), file("start.md", "# Start\n"))
	f.externalArtifact("docs", good)
	f.create(viewOf("docs", v1.SourceReference{Kind: v1.ExternalArtifactKind, Name: "docs"}))
	before := f.atRest("docs")

	for _, test := range []struct {
		name    string
		archive []byte
		reason  string
		words   string
	}{
		{"a link out of it, which is left out", archive(t, file("SUMMARY.md", "- [Start](start.md)\n"), link("start.md", "/etc/passwd")), v1.InvalidReason, "start.md, which is not among the pages"},
		{"a hard link out of it, which is nothing", archive(t, hardLink("SUMMARY.md", "/etc/passwd"), file("start.md", "# Start\n")), v1.InvalidReason, "SUMMARY.md"},
		{"a name above it", archive(t, file("SUMMARY.md", "- [Start](start.md)\n"), file("../../escaped.md", "# Escaped\n")), v1.ArtifactFailedReason, "invalid name"},
		{"an absolute name", archive(t, file("SUMMARY.md", "- [Start](start.md)\n"), file("/tmp/escaped.md", "# Escaped\n")), v1.ArtifactFailedReason, "invalid name"},
		{"a million files", archive(t, many(1_000_000)), v1.ArtifactFailedReason, "more than 50000 files and folders"},
		{"a million folders", archive(t, deep(500, 2000)), v1.ArtifactFailedReason, "more than 50000 files and folders"},
		{"two gigabytes", archive(t, zeros("start.md", 2<<30)), v1.ArtifactFailedReason, "bigger than max archive size"},
		{"no archive at all", []byte("<html>Please log in</html>"), v1.ArtifactFailedReason, "gzip"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := f.in(t)
			revision := f.externalArtifact("docs", test.archive)
			f.eventually("the controller to have tried", func() string {
				view := &v1.MarkdownView{}
				f.get(view, "docs")
				return differs(view.Status.LastAttemptedRevision, revision)
			})
			view := f.status("docs", metav1.ConditionFalse, test.reason, test.words)
			t.Logf("the view says: %s", view.Status.Conditions[0].Message)
			f.keeps(before)
			f.nothingEscaped()
		})
	}
	f.externalArtifact("docs", good)
	f.ready("docs")
	f.memory(controller)
}

// TestASourceThatCanNotBeDecodedHarmsNoOtherView has somebody make a source whose
// interval Go can't read, as Flux's own schema allows. Views of other sources must not
// notice.
func TestASourceThatCanNotBeDecodedHarmsNoOtherView(t *testing.T) {
	f := newCluster(t)
	f.must(f.flux.ApplyCRDs(t.Context()))
	_, err := f.RunController(t.Context(), "controller")
	f.must(err)
	poison := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"url": "https://git.example.com/x", "interval": "3000000h"}}}
	poison.SetGroupVersionKind(sourcev1.GroupVersion.WithKind(v1.GitRepositoryKind))
	poison.SetName("poison")
	f.create(poison)

	source := &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: "docs"},
		Spec:       sourcev1.GitRepositorySpec{URL: "https://git.example.com/docs", Interval: metav1.Duration{Duration: time.Hour}},
	}
	f.create(source)
	good := archive(t, file("SUMMARY.md", "- [Start](start.md)\n"), file("start.md", "# Start\n"))
	source.Status.Artifact = f.offer(good)
	f.must(f.Client.Status().Update(t.Context(), source))
	f.sourceView("docs", "docs", "")
	f.readyAt("docs", source.Status.Artifact.Revision)
	f.sourceView("other", "poison", "")
	f.eventually("the other view to wait", func() string {
		view := &v1.MarkdownView{}
		f.get(view, "other")
		if ready := conditions.Get(view, meta.ReadyCondition); ready == nil || ready.Reason != v1.ProgressingReason || !strings.Contains(ready.Message, "has no artifact yet") {
			return fmt.Sprintf("it says %v", ready)
		}
		return ""
	})
}

// externalArtifact offers an archive as the artifact of an ExternalArtifact, and
// returns its revision.
func (f *fixture) externalArtifact(name string, archive []byte) string {
	f.Helper()
	object := &sourcev1.ExternalArtifact{}
	if !f.get(object, name) {
		object = &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Name: name}}
		f.create(object)
	}
	object.Status.Artifact = f.offer(archive)
	object.Status.Conditions = []metav1.Condition{{
		Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: "Succeeded", LastTransitionTime: metav1.NewTime(time.Now()),
	}}
	f.must(f.Client.Status().Update(f.Context(), object))
	return object.Status.Artifact.Revision
}

// offer serves an archive, and returns what a source says of it.
func (f *fixture) offer(archive []byte) *meta.Artifact {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(archive))
	path := "/externalartifact/" + f.namespace + "/docs/" + digest + ".tar.gz"
	f.flux.Artifacts.Answer(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
	size := int64(len(archive))
	return &meta.Artifact{
		Path: strings.TrimPrefix(path, "/"), URL: f.flux.Artifacts.URL() + path, Digest: digest,
		Revision: "latest@" + digest, Size: &size, LastUpdateTime: metav1.Now(),
	}
}

// nothingEscaped looks for files outside of the cache, and for too many inside.
func (f *fixture) nothingEscaped() {
	f.Helper()
	for _, path := range []string{"/tmp/escaped.md", filepath.Join(f.Cluster.Folder(), "escaped.md")} {
		if _, err := os.Lstat(path); err == nil {
			f.Errorf("%s was written", path)
		}
	}
	temporary := filepath.Join(f.Cluster.Folder(), "product-tmp")
	f.eventually("the cache to hold nothing but the good archive", func() string {
		entries, bytes := 0, int64(0)
		// What is removed meanwhile is counted the next time.
		_ = filepath.WalkDir(temporary, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // see above
			}
			if info, err := entry.Info(); err == nil {
				entries, bytes = entries+1, bytes+info.Size()
			}
			return nil
		})
		if entries > 20 || bytes > mebibyte { // small archives that could be unpacked are kept
			return fmt.Sprintf("it holds %d files and folders with %d bytes", entries, bytes)
		}
		return ""
	})
}

// memory checks how much the controller has had at most.
func (f *fixture) memory(controller *cluster.Component) {
	f.Helper()
	state, err := controller.State(f.Context())
	f.must(err)
	for line := range strings.Lines(f.mustRead(fmt.Sprintf("/proc/%d/status", state.PID))) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kibibytes, err := strconv.Atoi(strings.Fields(rest)[0])
			f.must(err)
			f.Logf("the controller has had at most %d MiB", kibibytes>>10)
			if kibibytes<<10 > mostMemory {
				f.Errorf("that is more than the %d MiB of its limit", mostMemory/mebibyte)
			}
			return
		}
	}
	f.Error("the kernel doesn't say how much memory the controller has had")
}

// entry writes a part of an archive.
type entry func(*tar.Writer) error

func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var buffer bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&buffer, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	out := tar.NewWriter(compressed)
	for _, write := range entries {
		if err := write(out); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func file(name, text string) entry {
	return func(out *tar.Writer) error {
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o644}); err != nil {
			return err
		}
		_, err := out.Write([]byte(text))
		return err
	}
}

func link(name, target string) entry {
	return func(out *tar.Writer) error {
		return out.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
	}
}

func hardLink(name, target string) entry {
	return func(out *tar.Writer) error {
		return out.WriteHeader(&tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target, Mode: 0o777})
	}
}

func many(count int) entry {
	return func(out *tar.Writer) error {
		for i := range count {
			if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("%d.md", i), Mode: 0o644}); err != nil {
				return err
			}
		}
		return nil
	}
}

// deep is files that lie deep in folders of their own, of which the archive says nothing.
func deep(count, depth int) entry {
	return func(out *tar.Writer) error {
		for i := range count {
			name := fmt.Sprintf("%d/%sx.md", i, strings.Repeat("a/", depth))
			if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}); err != nil {
				return err
			}
		}
		return nil
	}
}

func zeros(name string, size int64) entry {
	return func(out *tar.Writer) error {
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644}); err != nil {
			return err
		}
		block := make([]byte, mebibyte)
		for written := int64(0); written < size; written += int64(len(block)) {
			if _, err := out.Write(block); err != nil {
				return err
			}
		}
		return nil
	}
}
