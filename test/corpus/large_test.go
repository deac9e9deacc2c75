//go:build linux

package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// large are books that don't fit into one ConfigMap.
var large = map[string]book{
	"a script of 2.6 MB, as mdbook-mermaid installs": {Files: start(files{
		"book.toml": "[output.html]\nadditional-js = [\"mermaid.min.js\", \"mermaid-init.js\"]\n", "mermaid.min.js": strings.Repeat("var a=1;function b(){return \"日本\"}\n", 2_600_000/36), "mermaid-init.js": "1;\n",
	})},
	"a screenshot of 3.4 MB":         {Files: start(files{"book.toml": "", "src/img/shot one.png": noise(3_400_000), "src/start.md": "# Start\n\n![](<img/shot one.png>)\n"})},
	"a page of 1.5 MB in one folder": {Src: "docs", Files: files{"docs/SUMMARY.md": "- [Big](big.md)\n", "docs/big.md": "# Big\n\n" + plainText(1_500_000)}},
	"three megabytes of pages":       {Src: "docs", Files: bigPages(40, 50_000), Lives: "it finds its search index large"},
	"files of just the limit": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n", "docs/1.bin": noise(1<<20 - 4<<10), "docs/2.bin": noise(1<<20 - 4<<10 + 1), "docs/3.bin": noise(1 << 20),
	}},
}

// noise is what no compression makes smaller: like the bytes of an image.
func noise(n int) string {
	r := rand.NewChaCha8([32]byte{1})
	content := make([]byte, n)
	_, _ = r.Read(content) // it never fails
	return string(content)
}

// plainText are paragraphs of about so many bytes, of a few thousand words.
func plainText(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < n {
		for range 60 {
			fmt.Fprintf(&b, "%s ", vocabulary[r.IntN(len(vocabulary))])
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

// vocabulary is made up.
var vocabulary = func() []string {
	r := rand.New(rand.NewPCG(3, 4))
	words := make([]string, 3000)
	for i := range words {
		word := make([]byte, 2+r.IntN(8))
		for j := range word {
			word[j] = byte('a' + r.IntN(26))
		}
		words[i] = string(word)
	}
	return words
}()

// yamlText are so many documents, no two of which are the same.
func yamlText(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- name: item-%d\n  value: \"%d\"\n  image: registry.example.com/team/app-%d:v1.%d\n", i, i*7919, i%97, i%31)
	}
	return b.String()
}

// bigPages are n pages of so many bytes in a folder docs.
func bigPages(n, size int) files {
	made, text := manyPages(n), plainText(size)
	for name := range made {
		if name != "docs/SUMMARY.md" && name != "docs/start.md" {
			made[name] += text
		}
	}
	return made
}
