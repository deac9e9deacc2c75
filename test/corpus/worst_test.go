//go:build linux

package corpus

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// worst are books that take much memory for their size. All books run under the limit
// of their own pod; these are what that limit is for.
var worst = map[string]book{
	"twenty pages that include a file of 200 kB": {Src: "docs", Files: pages(20, func(int) string { return "{{#include part.txt}}\n" }, files{"docs/part.txt": plainText(200_000)}), Lives: largeIndex},
	"a page that includes 900 kB of YAML":        {Src: "docs", Files: pages(1, func(int) string { return "```yaml\n{{#include part.yaml}}\n```\n" }, files{"docs/part.yaml": yamlText(9000)})},
	"an include of an include of an include": {Src: "docs", Files: pages(1, func(int) string { return strings.Repeat("{{#include 1.txt}}\n\n", 4) }, files{
		"docs/1.txt": strings.Repeat("{{#include 2.txt}}\n\n", 5), "docs/2.txt": strings.Repeat("{{#include 3.txt}}\n\n", 5), "docs/3.txt": plainText(20_000),
	})},
	"a hundred and fifty headings a page": {Src: "docs", Files: longTitles(pages(60, func(int) string {
		return numbered(150, func(i int) string { return fmt.Sprintf("## %d\n", i) })
	}, nil))},
	"two thousand commits": {Src: "docs", Files: pages(1, func(int) string {
		return numbered(2000, func(i int) string { return fmt.Sprintf("- %s fix %d\n", digits(40), i) })
	}, nil)},
	"words that never repeat":         {Src: "docs", Files: pages(3, func(int) string { return numbered(3000, func(int) string { return digits(16) + " " }) }, nil)},
	"the same without a search index": {Files: start(files{"src/start.md": numbered(20000, func(int) string { return digits(16) + " " }), "book.toml": "[output.html.search]\nenable = false\n"})},
	"a large table":                   {Src: "docs", Files: pages(1, func(int) string { return "|a|b|c|d|\n|-|-|-|-|\n" + strings.Repeat("|a|b||d|\n", 30_000) }, nil)},
	"a list of many":                  {Src: "docs", Files: pages(1, func(int) string { return strings.Repeat("- a\n  - b\n", 30_000) }, nil)},
	"nothing but emphasis":            {Src: "docs", Files: pages(1, func(int) string { return strings.Repeat("*a*b", 60_000) }, nil)},
	"nothing but code":                {Src: "docs", Files: pages(1, func(int) string { return strings.Repeat("`a` ", 60_000) }, nil)},
	"nothing but pictures":            {Src: "docs", Files: pages(1, func(int) string { return strings.Repeat("![](a.svg)\n", 20_000) }, files{"docs/a.svg": "<svg/>\n"})},
	"nothing but links":               {Src: "docs", Files: pages(2, func(int) string { return strings.Repeat("[a](page0.md)\n", 30_000) }, nil)},
	"nothing but notes":               {Src: "docs", Files: pages(1, func(int) string { return strings.Repeat("> [!NOTE]\n> a\n\n", 10_000) }, nil)},
	"hidden lines of Rust":            {Src: "docs", Files: pages(10, func(i int) string { return fmt.Sprintf("```rust\n{{#rustdoc_include code.rs:%d}}\n```\n", i+1) }, files{"docs/code.rs": numbered(6000, func(i int) string { return fmt.Sprintf("let value = %d;\n", i) })})},
	"footnotes": {Src: "docs", Files: pages(1, func(int) string {
		return numbered(5000, func(i int) string { return fmt.Sprintf("a[^%d]\n\n[^%d]: b\n\n", i, i) })
	}, nil)},
	"ten thousand drafts":        {Src: "docs", Files: files{"docs/SUMMARY.md": "- [a](a.md)\n" + strings.Repeat("- [a draft]()\n", 10_000), "docs/a.md": "# a\n"}},
	"chapters nested forty deep": {Src: "docs", Files: nestedPages(150, 40)},
	"a script of 8 MB":           {Files: start(files{"book.toml": "[output.html]\nadditional-js = [\"x.js\"]\n", "x.js": "x = \"{{ resource \"book.js\" }}\";\n" + strings.Repeat("x = 1;\n", 8_000_000/7)})},
	"Japanese text": {Src: "docs", Files: pages(20, func(int) string {
		return strings.Repeat("障害が起きたら手順を確認する。\nConfigMapを作成する。\n\n", 500)
	}, nil)},
}

const largeIndex = "it finds its search index large"

// pages are n chapters of a folder docs, and more files.
func pages(n int, text func(int) string, more files) files {
	made := files{}
	maps.Copy(made, more)
	for i := range n {
		made["docs/SUMMARY.md"] += fmt.Sprintf("- [Page %d](page%d.md)\n", i, i)
		made[fmt.Sprintf("docs/page%d.md", i)] = fmt.Sprintf("# Page %d\n\n%s\n", i, text(i))
	}
	return made
}

// longTitles gives each chapter more words, which are indexed for each of its headings.
func longTitles(made files) files {
	made["docs/SUMMARY.md"] = strings.ReplaceAll(made["docs/SUMMARY.md"], "[Page", "[What every one of our readers has to know about pages before they open page")
	return made
}

// nestedPages are n chapters, each nested in the one before, down to a depth and again.
func nestedPages(n, depth int) files {
	made := files{}
	for i := range n {
		made["docs/SUMMARY.md"] += fmt.Sprintf("%s- [Chapter number %d](page%d.md)\n", strings.Repeat("  ", i%depth), i, i)
		made[fmt.Sprintf("docs/page%d.md", i)] = fmt.Sprintf("# Page %d\n", i)
	}
	return made
}

func numbered(n int, text func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(text(i))
	}
	return b.String()
}

var random = rand.New(rand.NewPCG(5, 6))

// digits are n hexadecimal digits of no meaning. To be called while the tables are made.
func digits(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[random.IntN(16)]
	}
	return string(b)
}

// realBooks are those beside the repository, if they are there.
func realBooks(t *testing.T) map[string]book {
	t.Helper()
	all := map[string]book{}
	root := cmp.Or(os.Getenv("MARKDOWN_VIEW_BOOKS"), "../../../shared/books")
	for name, folder := range map[string]string{"the Cluster API book": "cluster-api-book", "mdBook's guide": "mdbook-guide"} {
		if _, err := os.Stat(filepath.Join(root, folder)); err != nil {
			t.Logf("%v: MARKDOWN_VIEW_BOOKS names the folder that holds it", err)
			continue
		}
		made := files{}
		err := filepath.WalkDir(filepath.Join(root, folder, "src"), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() == ".gitignore" {
				return err
			}
			content, err := os.ReadFile(file)
			rel, relErr := filepath.Rel(filepath.Join(root, folder), file)
			made[rel] = string(content)
			return cmp.Or(err, relErr)
		})
		if err != nil {
			t.Fatal(err)
		}
		all[name] = book{Src: "src", Files: made, AnyWarnings: true}
	}
	return all
}
