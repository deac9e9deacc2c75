package preview

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/zoetrope/markdown-view/test/cluster/build"
)

const inlineView = `apiVersion: view.zoetrope.github.io/v1
kind: MarkdownView
metadata:
  name: %s
spec:
  markdowns:
    SUMMARY.md: |
      - [Start](start.md)
    start.md: |
      # %s
`

const folderView = `apiVersion: view.zoetrope.github.io/v1
kind: MarkdownView
metadata:
  name: handbook
spec:
  contentFrom:
  - directory:
      path: docs
`

// function is the program.
var function string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	folder, err := os.MkdirTemp("", "preview-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	function = filepath.Join(folder, "fn")
	repository, err := build.Repository()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", function, "./fn")
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the function: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// written is a set of files by their paths.
type written map[string]string

func (w written) in(t *testing.T, folder string) {
	t.Helper()
	for name, content := range w {
		at := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// previewed is a preview that runs.
type previewed struct {
	view, url string
	log       lockedBuffer
}

type lockedBuffer struct {
	mu      sync.Mutex
	content bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.String()
}

// programs has the options of what the tests run, or skips them.
func programs(t *testing.T) Options {
	t.Helper()
	mdbook := os.Getenv("MDBOOK")
	if mdbook == "" {
		t.Skip("MDBOOK names no mdBook")
	}
	repository, err := build.Repository()
	if err != nil {
		t.Fatal(err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return Options{
		Input:  Input{Function: function, Kustomize: filepath.Join(repository, "bin", "kustomize")},
		MDBook: mdbook, Port: listener.Addr().(*net.TCPAddr).Port, Folder: t.TempDir(), Ready: func(string, string) {},
	}
}

func start(t *testing.T, o Options) *previewed {
	t.Helper()
	p := &previewed{}
	ready := make(chan struct{})
	o.Log = &p.log
	o.Ready = func(view, url string) {
		p.view, p.url = view, url
		close(ready)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- nil
		t.Fatalf("%v\n%s", err, &p.log)
	case <-time.After(time.Minute):
		t.Fatalf("nothing is served:\n%s", &p.log)
	}
	return p
}

// serves waits until a page has a text.
func (p *previewed) serves(t *testing.T, page, text string) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+page, nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			last = err.Error()
			return false, nil
		}
		defer func() { _ = response.Body.Close() }()
		content, err := io.ReadAll(response.Body)
		last = string(content)
		return err == nil && response.StatusCode == http.StatusOK && strings.Contains(last, text), nil
	})
	if err != nil {
		t.Fatalf("%s never had %.80q, but has %d bytes: %.2000s\nThe log:\n%s", page, text, len(last), last, &p.log)
	}
}

func (p *previewed) says(t *testing.T, text string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return strings.Contains(p.log.String(), text), nil
	})
	if err != nil {
		t.Fatalf("the log never had %q:\n%s", text, &p.log)
	}
}

func TestAPreviewFollowsEdits(t *testing.T) {
	o := programs(t)
	project := t.TempDir()
	o.Path = filepath.Join(project, "view.yaml")
	pages := written{
		".git/HEAD":           "",
		"view.yaml":           folderView,
		"docs/book.toml":      "[book]\ntitle = \"First title\"\n",
		"docs/src/SUMMARY.md": "- [Start](start.md)\n",
		"docs/src/start.md":   "# First edition\n\n[gone](gone.md)\n",
	}
	pages.in(t, project)
	p := start(t, o)
	if p.view != "handbook" {
		t.Errorf("the view is called %q", p.view)
	}
	p.serves(t, "start.html", "First edition")
	p.serves(t, "start.html", "First title")
	p.says(t, "gone.md") // the function's warning

	written{"docs/src/start.md": "# Second edition\n"}.in(t, project)
	p.serves(t, "start.html", "Second edition")
	written{"docs/src/SUMMARY.md": "- [Start](start.md)\n- [Next](next.md)\n", "docs/src/next.md": "# Next\n"}.in(t, project)
	p.serves(t, "next.html", "Next")

	written{"docs/src/SUMMARY.md": "- [Start](start.md)\n- [Lost](lost.md)\n"}.in(t, project)
	p.says(t, "the book stays as it was")
	p.serves(t, "next.html", "Next")

	written{"docs/src/SUMMARY.md": "- [Start](start.md)\n", "docs/book.toml": "[book]\ntitle = \"Second title\"\n"}.in(t, project)
	p.serves(t, "start.html", "Second title")
}

func TestAPreviewRunsTheFunctionWhereItIsTold(t *testing.T) {
	o := programs(t)
	o.From = t.TempDir()
	o.Path = filepath.Join(o.From, "deploy", "view.yaml")
	written{
		"deploy/view.yaml": folderView,
		"docs/SUMMARY.md":  "- [Start](start.md)\n",
		"docs/start.md":    "# First edition\n\n[gone](gone.md)\n",
	}.in(t, o.From)
	p := start(t, o)
	p.serves(t, "start.html", "First edition")
	p.says(t, "MarkdownView handbook (deploy/view.yaml)")
	written{"docs/start.md": "# Second edition\n"}.in(t, o.From)
	p.serves(t, "start.html", "Second edition")
}

func TestAPreviewAssemblesLargeFiles(t *testing.T) {
	o := programs(t)
	project := t.TempDir()
	o.Path = filepath.Join(project, "view.yaml")
	large := strings.Repeat("0123456789abcde\n", 150_000) + "the end"
	written{
		"view.yaml":           strings.Replace(folderView, "path: docs", "path: docs/src", 1),
		"docs/src/SUMMARY.md": "- [Start](start.md)\n",
		"docs/src/start.md":   "# Start\n",
		"docs/src/data.txt":   large,
	}.in(t, project)
	start(t, o).serves(t, "data.txt", large)
}

func TestAPreviewServesABookThatPodsServeByAStaticServer(t *testing.T) {
	o := programs(t)
	project := t.TempDir()
	o.Path = filepath.Join(project, "view.yaml")
	written{
		"view.yaml":       strings.Replace(folderView, "spec:\n", "spec:\n  staticServer: {}\n", 1),
		"docs/SUMMARY.md": "- [Start](start.md)\n",
		"docs/start.md":   "# First edition\n",
	}.in(t, project)
	p := start(t, o)
	p.serves(t, "start.html", "First edition")
	p.says(t, "by a static server")
	written{"docs/start.md": "# Second edition\n"}.in(t, project)
	p.serves(t, "start.html", "Second edition")
}

func TestAPreviewServesAKustomization(t *testing.T) {
	o := programs(t)
	o.Path = t.TempDir()
	written{
		"kustomization.yaml": "namePrefix: team-\nresources: [view.yaml]\n",
		"view.yaml":          fmt.Sprintf(inlineView, "guide", "A guide"),
	}.in(t, o.Path)
	p := start(t, o)
	p.serves(t, "start.html", "A guide")
	if p.view != "team-guide" {
		t.Errorf("the view is called %q", p.view)
	}
}

// TestAKustomizationFindsTheFunction takes an example that calls it "fn", which isn't on PATH.
func TestAKustomizationFindsTheFunction(t *testing.T) {
	repository, err := build.Repository()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/usr/bin:/bin")
	input := Input{
		Path:     filepath.Join(repository, "examples", "folder", "overlays", "staging"),
		Function: function, Kustomize: filepath.Join(repository, "bin", "kustomize"),
	}
	objects, notes, err := input.expand(t.Context())
	if err != nil || !strings.Contains(string(objects), "kind: Deployment") {
		t.Errorf("it is built to %s, %v: %s", objects, err, notes)
	}
}

func TestAPreviewThatCanNotBeginSaysWhy(t *testing.T) {
	two := fmt.Sprintf(inlineView, "one", "One") + "---\n" + fmt.Sprintf(inlineView, "two", "Two")
	for name, test := range map[string]struct{ view, choose, want string }{
		"several views":      {view: two, want: "choose one of: one, two"},
		"another's name":     {view: two, choose: "three", want: "there is no MarkdownView three, but: one, two"},
		"no view":            {view: "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n", want: "MarkdownView"},
		"a view with faults": {view: strings.Replace(fmt.Sprintf(inlineView, "one", "One"), "start.md: |", "begin.md: |", 1), want: "fn: exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := programs(t)
			o.Path, o.Name = filepath.Join(t.TempDir(), "view.yaml"), test.choose
			written{"view.yaml": test.view}.in(t, filepath.Dir(o.Path))
			var log lockedBuffer
			o.Log = &log
			if err := Serve(t.Context(), o); err == nil || !strings.Contains(err.Error()+log.String(), test.want) {
				t.Errorf("got %v, want %q; the log:\n%s", err, test.want, &log)
			}
		})
	}
	t.Run("a file that isn't there", func(t *testing.T) {
		o := programs(t)
		o.Path = filepath.Join(t.TempDir(), "view.yml")
		var log lockedBuffer
		o.Log = &log
		if err := Serve(t.Context(), o); err == nil || !strings.Contains(err.Error(), o.Path+": no such file") {
			t.Errorf("got %v; the log:\n%s", err, &log)
		}
	})
	t.Run("a kustomization that isn't run where it is", func(t *testing.T) {
		o := programs(t)
		o.Path, o.From = t.TempDir(), t.TempDir()
		if err := Serve(t.Context(), o); err == nil || !strings.Contains(err.Error(), "FROM is for the file of a view") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("one of two can be chosen", func(t *testing.T) {
		o := programs(t)
		o.Path, o.Name = filepath.Join(t.TempDir(), "view.yaml"), "two"
		written{"view.yaml": two}.in(t, filepath.Dir(o.Path))
		start(t, o).serves(t, "start.html", "Two")
	})
	t.Run("a port that is taken", func(t *testing.T) {
		o := programs(t)
		o.Path = filepath.Join(t.TempDir(), "view.yaml")
		written{"view.yaml": fmt.Sprintf(inlineView, "one", "One")}.in(t, filepath.Dir(o.Path))
		var config net.ListenConfig
		listener, err := config.Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", o.Port))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		if err := Serve(t.Context(), o); err == nil || !strings.Contains(err.Error(), "choose another port") {
			t.Errorf("got %v", err)
		}
	})
}
