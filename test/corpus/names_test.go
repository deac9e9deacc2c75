//go:build linux

package corpus

import "strings"

// names are books by what their files are called and how their bytes are.
var names = map[string]book{
	"Japanese names": {Src: "文書", Files: files{
		"文書/SUMMARY.md":  "# 目次\n\n- [設定](設定.md)\n- [障害対応](障害/対応%20手順.md)\n",
		"文書/障害/対応 手順.md": "# 障害対応\n\n![図](図.svg) [設定](../設定.md)\n", "文書/障害/図.svg": "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
		"文書/設定.md": "# 設定\n\nConfigMapを作成する。\n\n## 見出し\n",
	}},
	"spaces, quotes and signs": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [a](<a b  c.md>)\n- [b](it's.md)\n- [c](<say \"hi\".md>)\n- [d](a&b.md)\n- [e](a+b=c,d;e@f.md)\n- [f](<(x) [y] {z}.md>)\n- [g](100%.md)\n- [h](%41.md)\n- [i](a!b$c.md)\n",
		"docs/a b  c.md":  "# a\n", "docs/it's.md": "# b\n", "docs/say \"hi\".md": "# c\n", "docs/a&b.md": "# d\n", "docs/a+b=c,d;e@f.md": "# e\n",
		"docs/(x) [y] {z}.md": "# f\n", "docs/100%.md": "# g\n", "docs/%41.md": "# h\n", "docs/a!b$c.md": "# i\n",
		"docs/img *?<>|^`.png": "x",
	}},
	"emoji and accents": {Src: "docs", Files: files{
		"docs/SUMMARY.md":     "- [🎉](🎉/party-👩‍💻.md)\n- [composed](\u00e9.md)\n- [decomposed](e\u0301.md)\n- [arabic](مرحبا.md)\n",
		"docs/🎉/party-👩‍💻.md": "# 🎉 Party\n", "docs/\u00e9.md": "# composed\n", "docs/e\u0301.md": "# decomposed\n", "docs/مرحبا.md": "# مرحبا\n",
	}},
	"leading dots, dashes and underscores": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [a](.hidden.md)\n- [b](-dash.md)\n- [c](_under.md)\n- [d](__init__.md)\n- [e](_x41.md)\n- [f](a__b.md)\n- [g](a/b.md)\n- [h](_root.x.md)\n- [i](_hash.x.md)\n- [j](.dir/x.md)\n",
		"docs/.hidden.md": "# a\n", "docs/-dash.md": "# b\n", "docs/_under.md": "# c\n", "docs/__init__.md": "# d\n", "docs/_x41.md": "# e\n",
		"docs/a__b.md": "# f\n", "docs/a/b.md": "# g\n", "docs/_root.x.md": "# h\n", "docs/_hash.x.md": "# i\n", "docs/.dir/x.md": "# j\n",
		"docs/.nojekyll2": "x", "docs/.well-known/security.txt": "x\n", "docs/foo..bar.png": "x", "docs/a/..b.png": "x",
	}},
	"a name that begins with two dots": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n\n![](sub/..foo.png)\n", "docs/sub/..foo.png": "x", "docs/...": "x",
	}},
	"names that differ in case only": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [a](a.md)\n- [A](A.md)\n", "docs/a.md": "# small\n", "docs/A.md": "# capital\n", "docs/x.png": "1", "docs/X.png": "2",
	}},
	"very long names": {Src: "docs", Files: files{
		"docs/SUMMARY.md":          "- [a](" + longName + ".md)\n- [b](" + strings.Repeat("folder/", 30) + longName + ".md)\n",
		"docs/" + longName + ".md": "# a\n", "docs/" + strings.Repeat("folder/", 30) + longName + ".md": "# b\n",
	}},
	"dots inside and two endings": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [a](v1.2.3.md)\n- [b](x.md.md)\n- [c](y.markdown)\n- [d](z.txt)\n- [e](noext)\n",
		"docs/v1.2.3.md":  "# a\n", "docs/x.md.md": "# b\n", "docs/y.markdown": "# c\n", "docs/z.txt": "# d\n", "docs/noext": "# e\n",
	}},
	"CRLF everywhere": {Files: files{
		"book.toml":      "[book]\r\ntitle = \"CRLF\"\r\n",
		"src/SUMMARY.md": "# Summary\r\n\r\n[Preface](preface.md)\r\n\r\n- [Start](start.md)\r\n  - [Nested](nested.md)\r\n\r\n---\r\n\r\n[End](end.md)\r\n",
		"src/preface.md": "# Preface\r\n\r\nhard  \r\nbreak\r\n", "src/start.md": "# Start\r\n\r\n```sh\r\necho 1\r\n```\r\n{{#include part.txt:2:3}}\r\n",
		"src/nested.md": "Setext\r\n======\r\n\r\n| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n", "src/end.md": "# End\r\n", "src/part.txt": "1\r\n2\r\n3\r\n4\r\n",
	}},
	"a byte order mark in every file": {Files: files{
		"book.toml":      "\ufeff[book]\ntitle = \"BOM\"\n",
		"src/SUMMARY.md": "\ufeff# Summary\n\n- [Start](start.md)\n", "src/start.md": "\ufeff# Start\n\n{{#include part.txt}}\n", "src/part.txt": "\ufeffpart\n", "src/x.txt": "\ufeffx",
	}},
	"control characters and odd white space": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [a](a.md)\n", "docs/a.md": "# a\n\nbell\x07 escape\x1b[1m nul\x00 nel\u0085 ls\u2028 nbsp\u00a0 zwsp\u200b bom\ufeff del\x7f\n\n\ttab\n\ftrailing  \nend",
		"docs/x.txt": "\u0085\u2028\ufffe\uffff\x01",
	}},
	"lone carriage returns": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "# Summary\n\n- [a](a.md)\n- [b](b.md)\n", "docs/a.md": "# a\r\rtext\r", "docs/b.md": "# b\rtext\r\n",
	}},
}

var longName = strings.Repeat("long-", 46)
