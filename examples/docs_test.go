package examples

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/book"
)

// documentation is what is tested: patterns of paths below the root of the source tree.
var documentation = []string{"*.md", "docs/*.md", "examples/README.md", "examples/*/README.md", "test/README.md"}

// page is a Markdown file of the documentation.
type page struct {
	path   string // below the root of the source tree
	source []byte
	root   ast.Node
}

// pages returns the documentation.
func pages(t *testing.T) []page {
	t.Helper()
	tree := os.DirFS(repository)
	var list []page
	for _, pattern := range documentation {
		paths, err := fs.Glob(tree, pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, p := range paths {
			source, err := fs.ReadFile(tree, p)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, page{path: p, source: source, root: goldmark.DefaultParser().Parse(text.NewReader(source))})
		}
	}
	return list
}

// block is a fenced block of code.
type block struct {
	line int // of its first line, from 1
	text string
}

// blocks returns the page's blocks of a language.
func (p page) blocks(language string) []block {
	var list []block
	p.walk(func(n ast.Node) {
		fence, ok := n.(*ast.FencedCodeBlock)
		if !ok || string(fence.Language(p.source)) != language || fence.Lines().Len() == 0 {
			return
		}
		start := fence.Lines().At(0).Start
		list = append(list, block{
			line: 1 + strings.Count(string(p.source[:start]), "\n"),
			text: string(fence.Lines().Value(p.source)),
		})
	})
	return list
}

func (p page) walk(visit func(ast.Node)) {
	// The only error would be one that the function itself returns.
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			visit(n)
		}
		return ast.WalkContinue, nil
	})
}

func TestManifestsInTheDocumentationAreValid(t *testing.T) {
	views := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks("yaml") {
			t.Run(fmt.Sprintf("%s:%d", p.path, b.line), func(t *testing.T) {
				views += expand(t, b.text)
			})
		}
	}
	if views == 0 {
		t.Error("no MarkdownView was found in the documentation")
	}
}

// expand has the function expand the views of a block, configured by its
// MarkdownViewTransformer if it has one, and returns how many views there are.
func expand(t *testing.T, manifests string) int {
	t.Helper()
	config := yaml.MustParse("apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownViewTransformer\nmetadata: {name: expand}\n")
	var items []*yaml.RNode
	folders := fstest.MapFS{}
	views := 0
	for _, document := range documents(t, manifests) {
		node, err := yaml.Parse(document)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		switch node.GetKind() {
		case "MarkdownViewTransformer":
			config = node
		case v1.Kind:
			var view v1.MarkdownView
			unmarshal(t, document, &view)
			views++
			node = withoutSources(t, node, &view)
			items = append(items, sources(folders, &view)...)
			fallthrough
		default:
			items = append(items, node)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, folders); err != nil {
		t.Fatal(err)
	}
	var list bytes.Buffer
	writer := kio.ByteWriter{Writer: &list, FunctionConfig: config, WrappingAPIVersion: kio.ResourceListAPIVersion, WrappingKind: kio.ResourceListKind}
	if err := writer.Write(items); err != nil {
		t.Fatal(err)
	}
	fn := exec.CommandContext(t.Context(), filepath.Join(programs, "fn"))
	fn.Dir, fn.Stdin = dir, &list
	if result := resultOf(t, fn); result.failed {
		t.Errorf("%s in:\n%s", result.stderr, manifests)
	}
	return views
}

// withoutSources has a view read folders where it would read Flux's sources, which
// only the controller can.
func withoutSources(t *testing.T, node *yaml.RNode, view *v1.MarkdownView) *yaml.RNode {
	t.Helper()
	if errs := view.Validate(); len(errs) > 0 {
		t.Errorf("%s: %v", view.Name, errs.ToAggregate())
	}
	found := false
	for i := range view.Spec.ContentFrom {
		if ref := view.Spec.ContentFrom[i].SourceRef; ref != nil {
			view.Spec.ContentFrom[i] = v1.ContentSource{Directory: &v1.DirectorySource{Path: path.Join("artifact", ref.Path)}}
			found = true
		}
	}
	if !found {
		return node
	}
	text, err := sigsyaml.Marshal(view)
	if err != nil {
		t.Fatal(err)
	}
	return yaml.MustParse(string(text))
}

// sources makes what a view's contentFrom names: folders, and the ConfigMaps that
// it returns. Each holds a small book whose one chapter is start.md.
func sources(folders fstest.MapFS, view *v1.MarkdownView) []*yaml.RNode {
	small := map[string]string{"SUMMARY.md": "- [Start](start.md)\n", "start.md": "# Start\n"}
	var configMaps []*yaml.RNode
	for _, source := range view.Spec.ContentFrom {
		if source.Directory != nil {
			for name, content := range small {
				folders[filepath.ToSlash(filepath.Join(source.Directory.Path, name))] = &fstest.MapFile{Data: []byte(content)}
			}
		}
		if source.ConfigMapRef != nil && !source.ConfigMapRef.Optional {
			node := yaml.MustParse("apiVersion: v1\nkind: ConfigMap\n")
			_ = node.SetName(source.ConfigMapRef.Name)
			if view.Namespace != "" {
				_ = node.SetNamespace(view.Namespace)
			}
			node.SetDataMap(small)
			configMaps = append(configMaps, node)
		}
	}
	return configMaps
}

func TestNumbersInTheDocumentationAreThoseOfTheCode(t *testing.T) {
	for document, numbers := range map[string][]string{
		"docs/function.md": {
			grouped(book.MaxFileBytes), grouped(book.MaxBookBytes), grouped(book.MaxFiles),
			grouped(book.MaxConfigBytes), grouped(book.MaxConfigKeys), grouped(v1.MaxPathBytes), grouped(v1.MaxPathElementBytes),
		},
		"docs/markdownview.md": {strconv.Itoa(v1.MaxNameLength), generator.DefaultViewerImage, grouped(book.MaxConfigBytes)},
	} {
		text := textOf(t, repository, document)
		for _, number := range numbers {
			if !strings.Contains(text, number) {
				t.Errorf("%s doesn't mention %s", document, number)
			}
		}
	}
}

// grouped writes a number with a comma before each third digit from the end.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
