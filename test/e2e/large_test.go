package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/browser"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// mermaidConfig is what mdbook-mermaid installs, beside the library.
const mermaidConfig = `[book]
title = "Diagrams"

[output.html]
additional-js = ["mermaid.min.js", "mermaid-init.js"]
`

// TestAReaderSeesDiagramsAndScreenshots serves a project with files that no ConfigMap
// can hold: the library that draws diagrams, and an image of 3 MB.
func TestAReaderSeesDiagramsAndScreenshots(t *testing.T) {
	f := newFixture(t)
	library, err := os.ReadFile(tool("mermaid.min.js"))
	if err != nil {
		t.Skipf("%v; make bin/mermaid.min.js fetches it with npm", err)
	}
	screenshot := noise(t, 1000, 1000)
	if len(library) < 2<<20 || len(screenshot) < 3_000_000 {
		t.Fatalf("they have %d and %d bytes", len(library), len(screenshot))
	}
	f.applyProject("project", map[string][]byte{
		"project/book.toml":       []byte(mermaidConfig),
		"project/mermaid.min.js":  library,
		"project/mermaid-init.js": []byte("mermaid.initialize({startOnLoad: true});\n"),
		"project/src/SUMMARY.md":  []byte("- [Flow](flow.md)\n"),
		"project/src/flow.md": []byte("# Flow\n\n<pre class=\"mermaid\">graph LR; Commit --> Pages</pre>\n\n" +
			"![A screenshot](img/it's%20a%20screenshot.png)\n"),
		"project/src/img/it's a screenshot.png": screenshot,
	})

	site := f.site()
	site.Page("/") // waits for the Service's rules
	if status, got, err := site.Ask(f.Context(), escape("img/it's a screenshot.png")); err != nil || status != http.StatusOK || got != string(screenshot) {
		t.Errorf("the image: status %d, %v, %d bytes of %d", status, err, len(got), len(screenshot))
	}
	f.publishesNothingOfTheMount()

	reader := browser.Start(f.T)
	browser.Do(reader, "open the page", chromedp.Navigate(site.Local()+"/flow.html"))
	browser.Do(reader, "see the diagram", chromedp.WaitVisible(`pre.mermaid svg .node`))
	loaded := browser.Do(reader, "look at the image", chromedp.Evaluate[int](`document.querySelector("main img").naturalWidth`))
	if loaded != 1000 {
		t.Errorf("the image is %d pixels wide", loaded)
	}
	reader.Screenshot("diagram.png")
}

// TestABookTakesFilesFromBesideItsProject has paths that lead out of a project, also
// through a folder of which nothing is needed.
func TestABookTakesFilesFromBesideItsProject(t *testing.T) {
	tests := map[string]struct{ src, changelog string }{
		"pages in a folder":            {"src", "../../CHANGELOG.md"},
		"pages in the project itself":  {".", "../CHANGELOG.md"},
		"pages in a folder beside it":  {"../text", "../CHANGELOG.md"},
		"pages around it, and further": {"..", "CHANGELOG.md"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.restrict()
			source := path.Join("docs/project", test.src) + "/"
			f.applyProject("docs/project", map[string][]byte{
				"docs/project/book.toml": []byte("[book]\nsrc = \"" + test.src + "\"\n[build]\nbuild-dir = \"../../site\"\n" +
					"[output.html]\nadditional-css = [\"../../far.css\", \"assets/../near.css\"]\n"),
				"docs/project/assets/logo.svg": []byte("<svg/>"),
				"docs/project/near.css":        []byte(".near {}\n"),
				"far.css":                      []byte(".far {}\n"),
				"docs/CHANGELOG.md":            []byte("Everything is new.\n"),
				source + "SUMMARY.md":          []byte("- [A](a.md)\n"),
				source + "a.md":                []byte("# A\n\n{{#include " + test.changelog + "}}\n"),
			})
			f.site().Shows("/a.html", "Everything is new.")
			f.publishesNothingOfTheMount()
		})
	}
}

// applyProject applies what the function makes of a project, as the view docs.
func (f *fixture) applyProject(project string, files map[string][]byte) {
	f.Helper()
	f.kubectlWith(f.expandProject(project, files), "apply", "--server-side", "-f", "-")
	f.kubectl("rollout", "status", "deployment/viewer-docs", "--timeout=3m")
}

func (f *fixture) expandProject(project string, files map[string][]byte) string {
	f.Helper()
	folder := f.TempDir()
	for name, content := range files {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			f.Fatal(err)
		}
	}
	objects, err := function(f.Context(), folder,
		"apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata:\n  name: docs\nspec:\n  contentFrom:\n  - directory: {path: "+project+"}\n")
	if err != nil {
		f.Fatal(err)
	}
	return objects
}

// TestALargeFileIsOfOneRevision has the ConfigMaps of a large file move on, one by one,
// without their pods.
func TestALargeFileIsOfOneRevision(t *testing.T) {
	f := newFixture(t)
	f.restrict()
	const size = 3 << 20
	project := func(letter string) map[string][]byte {
		return map[string][]byte{
			"p/book.toml": nil, "p/src/SUMMARY.md": []byte("- [A](a.md)\n"), "p/src/a.md": []byte("# Large\n"),
			"p/src/large.txt": bytes.Repeat([]byte(letter), size),
		}
	}
	f.applyProject("p", project("1"))
	serves := func(f *fixture, letter string) {
		f.Helper()
		f.eventually("a whole file of "+letter, func() string {
			status, got, err := f.site().Ask(f.Context(), "large.txt")
			if err != nil || status != http.StatusOK || len(got) != size || strings.Count(got, letter) != size {
				return fmt.Sprintf("status %d, %v, %d bytes, %d of them %s", status, err, len(got), strings.Count(got, letter), letter)
			}
			return ""
		})
	}
	serves(f, "1")
	pod := f.pod()
	statuses := pod.Status.InitContainerStatuses
	if len(statuses) != 1 || statuses[0].Name != generator.AssemblerName || statuses[0].State.Terminated == nil {
		t.Fatalf("init containers %v", statuses)
	}
	took := statuses[0].State.Terminated
	t.Logf("the file was assembled in %s", took.FinishedAt.Sub(took.StartedAt.Time))
	if out, err := kubectl(t.Context(), "-n", f.namespace, "exec", pod.Name, "--", "sh", "-c", "touch /book/src/new"); err == nil {
		t.Errorf("writing to the pages worked: %s", out)
	}

	var objects []string
	for object := range strings.SplitSeq(f.expandProject("p", project("2")), "\n---\n") {
		if strings.Contains(object, "kind: ConfigMap") {
			f.kubectlWith(object, "apply", "--server-side", "-f", "-")
		} else {
			objects = append(objects, object)
		}
	}
	serves(f, "1")
	t.Run("also after the container was killed", func(t *testing.T) {
		clustertest.Need(t, shared, cluster.Node)
		f := f.in(t)
		f.killContainer(pod)
		serves(f, "1")
	})
	f.kubectlWith(strings.Join(objects, "\n---\n"), "apply", "--server-side", "-f", "-")
	f.kubectl("rollout", "status", "deployment/viewer-docs", "--timeout=3m")
	f.eventually("only new pods", func() string {
		if pods := f.pods(); len(pods) != 1 || pods[0].Name == pod.Name {
			return "there is the old one"
		}
		return ""
	})
	serves(f, "2")
}

// noise is an image that no format makes small.
func noise(t *testing.T, width, height int) []byte {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range picture.Pix {
		picture.Pix[i] = byte(random.Uint32())
		if i%4 == 3 {
			picture.Pix[i] = 0xff
		}
	}
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, picture); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}
