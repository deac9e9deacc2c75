//go:build linux

package corpus

// odd are books that few write and mdBook builds.
var odd = map[string]book{
	"a folder whose name ends like a page's": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [a](x.md/a.md)\n- [guide](guide.md)\n- [part](guide/part.md)\n", "docs/x.md/a.md": "# a\n", "docs/guide.md": "# guide\n", "docs/guide/part.md": "# part\n", "docs/.md": "x", "docs/x.md/pic.png": "x",
	}},
	"files that mdBook makes itself": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n", "docs/print.html": "mine\n", "docs/searchindex.js": "mine\n", "docs/404.html": "mine\n", "docs/css/general.css": "mine\n", "docs/favicon.svg": "<svg/>\n", "docs/a.html": "mine\n",
	}},
	"a folder above the one of the pages": {Src: "docs", Spec: "contentFrom: [{directory: {path: ., ignore: /book.toml}}]\nmarkdowns: {x.md: ''}", Refused: "SUMMARY.md", Files: files{
		"book.toml": "", "docs/SUMMARY.md": "- [a](x.md)\n",
	}},
	"a project's book.toml that is a link": {Files: files{
		"book.toml": "->conf/book.toml", "conf/book.toml": "[book]\ntitle = \"Linked\"\n", "src/SUMMARY.md": "- [a](a.md)\n", "src/a.md": "# a\n",
	}},
	"a theme among the pages":                       {Files: start(files{"book.toml": "[output.html]\ntheme = \"src/theme\"\nadditional-css = [\"src/theme/x.css\"]\n", "src/theme/head.hbs": "<!-- head -->\n", "src/theme/x.css": "a {}\n"})},
	"a theme that is a link":                        {Files: start(files{"book.toml": "", "theme": "->look", "look/head.hbs": "<!-- head -->\n", "look/favicon.svg": "<svg/>\n"})},
	"style sheets of odd names":                     {Files: start(files{"book.toml": "[output.html]\nadditional-css = [\"a b.css\", \"スタイル.css\", \"it's.css\", \"_x.css\"]\n", "a b.css": "a {}\n", "スタイル.css": "b {}\n", "it's.css": "c {}\n", "_x.css": "d {}\n"})},
	"an empty source folder":                        {Files: files{"book.toml": "[book]\nsrc = \"\"\n", "SUMMARY.md": "- [a](a.md)\n", "a.md": "# a\n"}},
	"no page for unknown addresses":                 {Files: start(files{"book.toml": "[output.html]\ninput-404 = \"\"\n"})},
	"a page for unknown addresses beside the pages": {Files: start(files{"book.toml": "[output.html]\ninput-404 = \"404.md\"\n", "src/404.md": "# Lost\n"})},
	"HTML and Markdown":                             {Files: start(files{"book.toml": "[output.html]\n[output.markdown]\n"})},
	"HTML and what need not be there":               {Lives: "it says that it goes on without", Files: start(files{"book.toml": "[output.html]\n[output.linkcheck]\noptional = true\n"})},
	"a chapter with a point before it":              {Src: "docs", Files: files{"docs/SUMMARY.md": "- [a](./a.md)\n- [b](./b/./c.md)\n- [r](./README.md)\n", "docs/a.md": "# a\n", "docs/b/c.md": "# c\n", "docs/README.md": "# r\n"}},
	"a chapter through a folder and back":           {Src: "docs", Files: files{"docs/SUMMARY.md": "- [a](x/../a.md)\n- [b](b.md)\n", "docs/a.md": "# a\n", "docs/b.md": "# b\n", "docs/x/y.md": "# y\n"}},
	"a chapter outside of the source folder": {Folder: "guide", Refused: "../README.md", Lives: "it writes the page beside the site", Files: files{
		"guide/book.toml": "", "guide/src/SUMMARY.md": "- [a](a.md)\n- [readme](../README.md)\n", "guide/src/a.md": "# a\n", "guide/README.md": "# readme\n",
	}},
	"a chapter with a fragment":  {Src: "docs", Refused: "a.md#x", Files: page("- [A](a.md#x)\n", "# A\n")},
	"a chapter of another site":  {Src: "docs", Refused: "https://", Files: page("- [A](a.md)\n- [B](https://example.com/)\n", "# A\n")},
	"an include that isn't text": {Src: "docs", Warns: []string{"not UTF-8"}, Files: files{"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n\n{{#include x.bin}}\n", "docs/x.bin": "\xff\xfe\x00"}},
	"an include of a folder":     {Src: "docs", Warns: []string{"sub"}, Files: files{"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n\n{{#include sub}}\n", "docs/sub/x.txt": "x"}},
	"an include from beside a link": {Comes: []string{"x.txt"}, Files: files{
		"book.toml": "", "src/SUMMARY.md": "- [a](sub/a.md)\n", "src/sub": "->../shared/sub", "shared/sub/a.md": "# a\n\n{{#include ../x.txt}}\n", "shared/x.txt": "of shared\n",
	}},
	"an include through a link":                              {Files: files{"book.toml": "", "src/SUMMARY.md": "- [a](a.md)\n", "src/a.md": "# a\n\n{{#include ../code/x.txt}}\n{{#include ../code/y.txt}}\n", "code": "->real/code", "real/code/x.txt": "x\n", "real/code/y.txt": "->../y.txt", "real/y.txt": "y\n"}},
	"an include from beside a link, and another of the name": {Refused: "without going through the link", Lives: "a link leads the operating system elsewhere, and a ConfigMap has none", Files: files{"book.toml": "", "src/SUMMARY.md": "- [a](sub/a.md)\n", "src/sub": "->../shared/sub", "shared/sub/a.md": "# a\n\n{{#include ../x.txt}}\n", "shared/x.txt": "of shared\n", "src/x.txt": "of src\n"}},
	"anchors within anchors": {Src: "docs", Files: files{"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n\n```\n{{#include x.txt:one}}\n```\n\n```\n{{#include x.txt:two}}\n```\n\n```rust\n{{#rustdoc_include x.txt:two}}\n```\n\n{{#include x.txt:90:}}{{#include x.txt:3:1}}{{#include x.txt:0}}\n",
		"docs/x.txt": "0\r\n// ANCHOR: one\r\n1\r\n// ANCHOR: two\r\n2\r\n// ANCHOR_END: one\r\n3\r\n// ANCHOR_END: two\r\n4\r\n"}},
	"a project in a deep folder of odd names": {Folder: "my docs/日本 'x'/guide", Files: files{
		"my docs/日本 'x'/guide/book.toml": "[output.html]\nadditional-js = [\"../../a b.js\"]\n", "my docs/日本 'x'/guide/src/SUMMARY.md": "- [a](a.md)\n", "my docs/日本 'x'/guide/src/a.md": "# a\n\n{{#include ../../note.txt}}\n{{#include ../../../../top.txt}}\n",
		"my docs/a b.js": "1;\n", "my docs/日本 'x'/note.txt": "note\n", "top.txt": "top\n",
	}, Spec: "contentFrom: [{directory: {path: \"my docs/日本 'x'/guide\"}}]"},
	"large files of odd names and places": {Folder: "p", Files: files{
		"p/book.toml": "[output.html]\nadditional-js = [\"../out side $(x).js\"]\n", "p/src/SUMMARY.md": "- [a](a.md)\n", "p/src/a.md": "# a\n\n{{#include ../big one.txt}}\n",
		"out side $(x).js": "x = 1;" + noise(0) + yamlText(20_000), "p/big one.txt": plainText(100_000), "p/src/-n $HOME `x` 'q'.png": noise(1_500_000), "p/src/日本/…/é\"q\".bin": noise(2_000_000), "p/src/sub/*.bin": noise(1_100_000),
	}, Warns: []string{"big"}},
	"an old build beneath the pages": {Stays: []string{"out/old.html"}, Files: start(files{"book.toml": "[build]\nbuild-dir = \"src/out\"\n", "src/out/old.html": "old\n"})},
	"a name with a line end":         {Src: "docs", Refused: "control or invisible", Lives: "it takes any name", Files: files{"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n", "docs/x\ny.png": "x"}},
	"a name with a backslash":        {Src: "docs", Refused: "backslash", Lives: "it takes any name", Files: files{"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n", `docs/x\y.png`: "x"}},
	"a name that isn't UTF-8":        {Src: "docs", Refused: "UTF-8", Lives: "it takes any name", Files: files{"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n", "docs/x\xff.png": "x"}},
	"a link that leads nowhere":      {Src: "docs", Refused: "leads", Files: files{"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n", "docs/x.png": "->gone.png"}},
	"a link that leads to itself":    {Src: "docs", Refused: "leads", Files: files{"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "->a.md"}},
	"a link to its own folder":       {Src: "docs", Refused: "a link to a folder that it is in itself", Files: files{"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n", "docs/sub/up": "->.."}},
}
