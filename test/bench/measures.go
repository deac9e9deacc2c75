package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const listHead = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"

const transformer = `apiVersion: view.zoetrope.github.io/v1
kind: MarkdownViewTransformer
metadata:
  name: bench
  annotations:
    config.kubernetes.io/function: |
      exec: {path: %s}
`

const kustomization = "resources: [resources.yaml]\ntransformers: [transformer.yaml]\n"

// kustomizeViews are how many views kustomize builds at most: its own time grows with the
// square of the objects, to minutes for 1,000.
const kustomizeViews = 300

// insideKustomize measures a build with the function against one of what it
// expands to, passed through cat.
func (b *bench) insideKustomize() error {
	documents := viewDocuments(min(b.views, kustomizeViews))
	rendered, err := command{args: []string{b.fn, "-"}, stdin: []byte(documents)}.run()
	if err != nil {
		return err
	}
	cat, err := exec.LookPath("cat")
	if err != nil {
		return err
	}
	build := func(name, resources, function string) (command, error) {
		for file, content := range map[string]string{
			"resources.yaml": resources, "transformer.yaml": fmt.Sprintf(transformer, function), "kustomization.yaml": kustomization,
		} {
			if err := b.write(filepath.Join(name, file), []byte(content)); err != nil {
				return command{}, err
			}
		}
		return command{args: []string{b.kustomize, "build", "--enable-alpha-plugins", "--enable-exec", b.path(name)}}, nil
	}
	ours, err := build("ours", documents, b.fn)
	if err != nil {
		return err
	}
	baseline, err := build("baseline", string(rendered.written), cat)
	if err != nil {
		return err
	}
	once := *b
	once.runs = 1
	a, z, err := once.compare(ours, baseline)
	if err != nil {
		return err
	}
	views := min(b.views, kustomizeViews)
	if want := 3 * views; bytes.Count(a.written, []byte("\nkind: ")) < want {
		return fmt.Errorf("kustomize printed fewer than %d objects", want)
	}
	b.report(fmt.Sprintf("kustomize build, %d views of 2 KB / their objects through cat", views), a, z, "≤ 1.5")
	return nil
}

// alone measures the function against kyaml reading and writing what it writes.
func (b *bench) alone() error {
	var list strings.Builder
	list.WriteString(listHead + "functionConfig:\n" + indent(fmt.Sprintf(transformer, b.fn)) + "items:\n")
	for i := range b.views {
		list.WriteString("- " + strings.TrimPrefix(indent(viewDocument(i)), "  "))
	}
	return b.againstCopy(fmt.Sprintf("fn, %d views of 2 KB / kyaml copying its output", b.views), list.String(), "", "≤ 2")
}

// directory measures a large book from a folder.
func (b *bench) directory() error {
	if b.book == "" {
		return nil
	}
	if err := os.CopyFS(b.path("work", "book"), os.DirFS(b.book)); err != nil {
		return err
	}
	view := "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: book}\nspec: {contentFrom: [{directory: {path: ./book}}]}\n"
	return b.againstCopy("fn, large book from a folder / kyaml copying its output", listHead+"functionConfig:\n"+indent(view)+"items: []\n", b.path("work"), "≤ 2")
}

func (b *bench) againstCopy(measure, list, dir, goal string) error {
	ours := command{args: []string{b.fn}, stdin: []byte(list), dir: dir}
	first, err := ours.run()
	if err != nil {
		return err
	}
	a, z, err := b.compare(ours, command{args: []string{b.self, copyCommand}, stdin: first.written})
	if err != nil {
		return err
	}
	b.report(measure, a, z, goal)
	if dir == "" {
		return nil
	}
	return b.memory(ours)
}

// memory measures the peak memory of a run over the large book.
func (b *bench) memory(ours command) error {
	ours.args = append([]string{b.self, memoryCommand}, ours.args...)
	u, err := ours.run()
	if err != nil {
		return err
	}
	var peak int64
	if _, err := fmt.Sscan(string(u.written), &peak); err != nil {
		return err
	}
	book, err := folderSize(b.path("work", "book"))
	if err != nil {
		return err
	}
	b.results.add(row{"fn, large book, peak memory / the book", size(float64(peak)), size(float64(book)), "≤ 12"})
	return nil
}

// startup measures what every call pays.
func (b *bench) startup() error {
	if err := b.write("empty/main.go", []byte("package main\n\nfunc main() {}\n")); err != nil {
		return err
	}
	empty := b.path("empty", "empty")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", empty, b.path("empty", "main.go"))
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build an empty program: %w\n%s", err, out)
	}
	list := listHead + "functionConfig:\n" + indent(fmt.Sprintf(transformer, b.fn)) + "items: []\n"
	a, z, err := b.compare(command{args: []string{b.fn}, stdin: []byte(list)}, command{args: []string{empty}})
	if err != nil {
		return err
	}
	b.report("fn, empty ResourceList / an empty Go program", a, z, "")
	ours, err := os.Stat(b.fn)
	if err != nil {
		return err
	}
	theirs, err := os.Stat(empty)
	if err != nil {
		return err
	}
	b.results.add(row{"fn, size of the program / an empty Go program", size(float64(ours.Size())), size(float64(theirs.Size())), ""})
	return nil
}

func viewDocuments(views int) string {
	documents := make([]string, views)
	for i := range documents {
		documents[i] = viewDocument(i)
	}
	return strings.Join(documents, "---\n")
}

// viewDocument is a view of about 2 KB.
func viewDocument(i int) string {
	paragraph := strings.Repeat("      A page of a handbook says what to do, when, and whom to call.\n", 26)
	return fmt.Sprintf(`apiVersion: view.zoetrope.github.io/v1
kind: MarkdownView
metadata:
  name: view-%d
spec:
  markdowns:
    SUMMARY.md: |
      # Summary

      - [Start](start.md)
    start.md: |
      # View %d

%s`, i, i, paragraph)
}

func indent(text string) string {
	return "  " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n  "), "  ")
}

func folderSize(dir string) (int64, error) {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		size += info.Size()
		return nil
	})
	return size, err
}
