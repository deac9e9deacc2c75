package links

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/summary"
)

// build lets a real mdBook, which MDBOOK names, build a book with some renderer,
// and returns the folder with what it made.
func build(t *testing.T, files map[string][]byte, bookToml string) string {
	t.Helper()
	program := os.Getenv("MDBOOK")
	if program == "" {
		t.Skip("MDBOOK names no mdbook program")
	}
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "book.toml"), []byte(bookToml), 0o666); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, "build", dir)
	command.Env = append(os.Environ(), "MDBOOK_BUILD__CREATE_MISSING=false")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return filepath.Join(dir, "book")
}

func load(t *testing.T, files map[string][]byte) *summary.Summary {
	t.Helper()
	s, err := summary.Load(files, "src")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLinksAgainstMDBook follows every link of the pages that mdBook renders, and
// compares those that lead nowhere with those that are broken here.
func TestLinksAgainstMDBook(t *testing.T) {
	books := realBooks(t)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 10 {
		books[fmt.Sprintf("random book %d", i)] = randomBook(r)
	}
	for name, files := range books {
		t.Run(name, func(t *testing.T) {
			site := build(t, files, "output.html.search.enable = false\n")
			s := load(t, files)
			c := &checker{files: files, src: "src", site: newSite(files, "src", s), warned: map[diagnostic.Problem]bool{}, expanded: maxExpanded, expansions: maxExpansions}
			links := 0
			for chapter := range s.Chapters() {
				if chapter.Draft() {
					continue
				}
				folder := path.Dir(chapter.Path())
				broken := func(l link) bool { return c.site.broken(l, folder) }
				var got []string
				for _, l := range brokenLinks(c.expand(path.Join("src", chapter.Path())).text, broken) {
					got = append(got, l.target(folder))
				}
				want, all := deadLinks(t, site, chapter.HTML())
				links += all
				slices.Sort(got)
				if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
					t.Errorf("%s: -want +got:\n%s\n%s", chapter.Path(), diff, files["src/"+chapter.Path()])
				}
			}
			t.Logf("%d links", links)
		})
	}
}

// deadLinks returns the targets of a page's relative links that lead nowhere, and
// the number of all.
func deadLinks(t *testing.T, site, page string) (dead []string, all int) {
	file, err := os.Open(filepath.Join(site, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	inside := false
	for tokens := html.NewTokenizer(file); tokens.Next() != html.ErrorToken; {
		token := tokens.Token()
		if token.Data == "main" {
			inside = token.Type == html.StartTagToken
		}
		for _, a := range token.Attr {
			image := token.Data == "img" && a.Key == "src"
			if !inside || !image && (token.Data != "a" || a.Key != "href") {
				continue
			}
			address, err := url.Parse(a.Val)
			if err != nil || address.IsAbs() || address.Host != "" || address.Path == "" || strings.HasPrefix(address.Path, "/") {
				continue
			}
			all++
			target := path.Join(path.Dir(page), address.Path)
			info, err := os.Stat(filepath.Join(site, filepath.FromSlash(target)))
			if err == nil && info.IsDir() && !image {
				_, err = os.Stat(filepath.Join(site, filepath.FromSlash(target), "index.html"))
			}
			if err != nil || image && info.IsDir() || strings.HasPrefix(target, "..") {
				dead = append(dead, target)
			}
		}
	}
	slices.Sort(dead)
	return dead, all
}

// TestExpandAgainstMDBook compares the text of chapters with all that they
// include with the text that mdBook hands to a renderer.
func TestExpandAgainstMDBook(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	files := map[string][]byte{}
	var list strings.Builder
	for i := range 200 {
		name := fmt.Sprintf("%d.md", i)
		fmt.Fprintf(&list, "- [%d](%s)\n", i, name)
		files["src/"+name] = []byte(randomIncludes(r, "\n"))
	}
	for _, name := range []string{"src/one", "src/d/two", "code/three"} {
		files[name] = []byte(randomIncludes(r, " ") + "\n// ANCHOR: a\n" + randomIncludes(r, " ") + "\n// ANCHOR_END: a\nlast\n")
	}
	files["src/SUMMARY.md"] = []byte(list.String())
	made := build(t, files, "[output.dump]\ncommand = \"cp /dev/stdin dump.json\"\n")
	dump, err := os.ReadFile(filepath.Join(made, "dump.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rendered struct {
		Book struct {
			Items []struct {
				Chapter struct{ Path, Content string }
			}
		}
	}
	if err := json.Unmarshal(dump, &rendered); err != nil {
		t.Fatal(err)
	}
	if len(rendered.Book.Items) != 200 {
		t.Fatalf("mdBook rendered %d chapters", len(rendered.Book.Items))
	}
	for _, item := range rendered.Book.Items {
		c := &checker{files: files, warned: map[diagnostic.Problem]bool{}, expanded: maxExpanded, expansions: maxExpansions}
		got := string(c.expand("src/" + item.Chapter.Path).text)
		// Line ends of included text differ: mdBook joins its lines anew.
		want := strings.ReplaceAll(item.Chapter.Content, "```rust,more", "```rust") // what matters to highlighting only
		if diff := cmp.Diff(strings.Fields(want), strings.Fields(got)); diff != "" {
			t.Errorf("%q: -want +got:\n%s", files["src/"+item.Chapter.Path], diff)
		}
	}
}

// randomIncludes makes up a page of directives and the like. In included files
// they don't go over several lines: such a line can be an anchor's, and mdBook
// would join the rest.
func randomIncludes(r *rand.Rand, space string) string {
	pick := func(options ...string) string { return options[r.IntN(len(options))] }
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(pick("text ", "\n", "{{", "}}", `\`, "", "// ANCHOR: b\n", "// ANCHOR_END: b\n"))
		b.WriteString(pick("", "", `\`) + pick("{{#include ", "{{ #include ", "{{#playground ", "{{#title ", "{{#other ", "{{#include"+space))
		b.WriteString(pick("one", "d/two", "./d/../one", "../code/three", "gone", "../src/one"))
		b.WriteString(pick("", "", "", ":a", ":b", ":1", ":2:3", ":2:", "::2", ":x", ":0", ":1:0") + pick("", " ", " more", space))
		b.WriteString(pick("}}", "}}", "}}", "}", space+"}}") + pick("", " ", "\n"))
	}
	return b.String()
}

// randomBook makes up pages that link to each other in all ways.
func randomBook(r *rand.Rand) map[string][]byte {
	pick := func(options ...string) string { return options[r.IntN(len(options))] }
	chapters := []string{"a.md", "d/b.md", "d/README.md", "e/f/c.md", "notes.txt", "g h.md", "é.md"}
	files := map[string][]byte{"src/pic.png": nil, "src/d/pic.png": nil, "src/lost.md": nil, "src/x.mdx": nil, "src/i/j.txt": nil, "up.md": nil}
	targets := append(slices.Clone(chapters), "pic.png", "d/pic.png", "lost.md", "x.mdx", "gone.md", "d", "d/", "i/", "", "e", "../up.md", "README.md", "A.md")
	var list strings.Builder
	for _, name := range chapters {
		fmt.Fprintf(&list, "- [%s](<%s>)\n", name, name)
		var page strings.Builder
		for range 12 {
			to := strings.Repeat("../", r.IntN(3)) + targets[r.IntN(len(targets))]
			if r.IntN(3) == 0 {
				to = strings.TrimSuffix(to, path.Ext(to)) + pick(".html", ".HTML", "")
			}
			to += pick("", "", "", "#x", "?x", "#x.md", "?x.md#y")
			plain := strings.ReplaceAll(to, " ", "%20")
			page.WriteString(pick("[x]("+plain+") ", "![x](<"+to+">) ", "<a href=\""+plain+"\">x</a>\n", "<img src='"+plain+"'>\n", "\n\n",
				"\n\n[ref]: "+plain+"\n\n[ref]\n\n", "`[x]("+plain+")`\n", "\n\n<div><a href="+plain+"#>x</a></div>\n\n", "[^1] ", "\n\n[^1]: "+plain+"\n\n", "> [x](\n> "+plain+")\n",
				"\n```\n[x]("+plain+")\n```\n"))
		}
		files["src/"+name] = []byte(page.String())
	}
	files["src/SUMMARY.md"] = []byte(list.String())
	return files
}
