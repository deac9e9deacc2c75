//go:build linux

package corpus

import (
	"fmt"
	"strings"
)

// layouts are books by where their files are.
var layouts = map[string]book{
	"one page in one folder": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "# Summary\n\n- [Start](start.md)\n",
		"docs/start.md":   "# Start\n\nWelcome.\n",
	}},
	"a folder of folders with images": {Src: "docs", Files: files{
		"docs/SUMMARY.md":             "# Summary\n\n[Preface](README.md)\n\n- [Guide](guide/README.md)\n  - [Install](guide/install/linux.md)\n- [Notes](notes/a/b/c/d.md)\n",
		"docs/README.md":              "# Preface\n\n![logo](img/logo.png) [guide](guide/) [install](guide/install/linux.md)\n",
		"docs/img/logo.png":           "\x89PNG\r\n\x1a\n\x00\x00\xff\xfe",
		"docs/guide/README.md":        "# Guide\n\n[up](../index.html)\n",
		"docs/guide/install/linux.md": "# Linux\n\n![](../../img/logo.png)\n",
		"docs/notes/a/b/c/d.md":       "# Deep\n\n[front](../../../../README.md)\n",
	}, Warns: []string{"README.md"}},
	"a project": {Files: files{
		"book.toml":      "[book]\ntitle = \"A project\"\nauthors = [\"me\"]\nlanguage = \"en\"\n",
		"src/SUMMARY.md": "# Summary\n\n- [Start](start.md)\n",
		"src/start.md":   "# Start\n",
	}},
	"a project in a folder": {Folder: "guide", Files: files{
		"README.md":            "# Not a page\n",
		"guide/book.toml":      "[book]\ntitle = \"Guide\"\n",
		"guide/src/SUMMARY.md": "- [Start](start.md)\n",
		"guide/src/start.md":   "# Start\n",
	}},
	"a project beside its built site and its code": {Files: files{
		"book.toml":       "[book]\ntitle = \"Built\"\n",
		"src/SUMMARY.md":  "- [Start](start.md)\n",
		"src/start.md":    "# Start\n",
		"book/index.html": "old\n",
		"main.go":         "package main\n",
	}},
	"a project that is its own source folder": {Files: files{
		"book.toml":    "[book]\nsrc = \".\"\n\n[output.html]\nadditional-css = [\"style.css\"]\nedit-url-template = \"https://example.com/edit/{path}\"\n",
		"SUMMARY.md":   "- [Start](start.md)\n- [More](more/page.md)\n",
		"start.md":     "# Start\n\n[style](style.css)\n",
		"more/page.md": "# More\n\n![](../img.svg)\n",
		"img.svg":      "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
		"style.css":    "body { color: red }\n",
	}},
	"a project that is its own source folder, with a theme": {Files: files{
		"book.toml":      "[book]\nsrc = \"./\"\n",
		"SUMMARY.md":     "- [Start](start.md)\n",
		"start.md":       "# Start\n\n![logo](theme/logo.svg)\n",
		"theme/logo.svg": "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
		"theme/head.hbs": "<meta name=\"x\" content=\"y\">\n",
	}},
	"a source folder called docs": {Files: files{
		"book.toml":       "[book]\nsrc = \"docs\"\n[output.html]\nedit-url-template = \"https://example.com/edit/{path}\"\n",
		"docs/SUMMARY.md": "- [Start](a/start.md)\n",
		"docs/a/start.md": "# Start\n",
	}},
	"a source folder in folders": {Files: files{
		"book.toml":      "[book]\nsrc = \"./a//b/../c/\"\n[output.html]\nedit-url-template = \"https://example.com/edit/{path}\"\n",
		"a/c/SUMMARY.md": "- [Start](start.md)\n",
		"a/c/start.md":   "# Start\n",
		"a/b/x.md":       "# X\n",
	}},
	"a source folder outside of the project": {Folder: "book", Files: files{
		"book/book.toml":   "[book]\nsrc = \"../docs\"\n[output.html]\nedit-url-template = \"https://example.com/edit/{path}\"\n",
		"docs/SUMMARY.md":  "- [Start](start.md)\n- [Next](sub/next.md)\n",
		"docs/start.md":    "# Start\n\n![](pic.svg)\n",
		"docs/sub/next.md": "# Next\n",
		"docs/pic.svg":     "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
	}},
	"Japanese beside English": {
		Spec: "contentFrom: [{directory: {path: .}}]\nbookToml: |\n  [book]\n  src = \"src/ja\"\n  language = \"ja\"\n",
		Files: files{
			"book.toml":         "[book]\nsrc = \"src/en\"\nlanguage = \"en\"\n",
			"src/en/SUMMARY.md": "- [Start](start.md)\n", "src/en/start.md": "# Start\n",
			"src/ja/SUMMARY.md": "- [はじめに](start.md)\n", "src/ja/start.md": "# はじめに\n\nようこそ。\n",
		},
		Project: files{
			"book.toml":         "[book]\nsrc = \"src/ja\"\nlanguage = \"ja\"\n",
			"src/ja/SUMMARY.md": "- [はじめに](start.md)\n", "src/ja/start.md": "# はじめに\n\nようこそ。\n",
		},
	},
	"links among the pages": {Files: files{
		"book.toml":       "[book]\ntitle = \"Links\"\n",
		"src/SUMMARY.md":  "- [Start](start.md)\n- [Shared](shared/page.md)\n- [Again](again.md)\n",
		"src/start.md":    "# Start\n\n![](pic.svg)\n",
		"src/again.md":    "->../common/again.md",
		"src/shared":      "->../common/shared",
		"src/pic.svg":     "->../assets/pic.svg",
		"assets/pic.svg":  "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
		"common/again.md": "# Again\n", "common/shared/page.md": "# Shared\n", "common/shared/x.txt": "x\n",
	}},
	"a source folder that is a link": {Files: files{
		"book.toml":       "[book]\ntitle = \"Links\"\n",
		"src":             "->docs",
		"docs/SUMMARY.md": "- [Start](start.md)\n",
		"docs/start.md":   "# Start\n",
	}},
	"all that SUMMARY.md can say": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "# Title *of* all\n\n[Preface](a.md)\n[Second](b.md)\n\n# Part `one`\n\n- [First **bold** &amp; <i>x</i>](c.md)\n  - [Draft]()\n    - [Under a draft](d.md)\n" +
			"* [Star](e.md)\n\n---\n\n# Part two\n\n- [Angle](<f g.md>)\n- [Per%20cent](h%20i.md)\n- [Title](j.md \"title\")\n\n---\n\n[Suffix](k.md)\n[Last]()\n",
		"docs/a.md": "# A\n", "docs/b.md": "# B\n", "docs/c.md": "# C\n", "docs/d.md": "# D\n", "docs/e.md": "# E\n",
		"docs/f g.md": "# F G\n", "docs/h i.md": "# H I\n", "docs/j.md": "# J\n", "docs/k.md": "# K\n",
	}},
	"chapters nested six deep": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [1](1.md)\n  - [2](1/2.md)\n    - [3](1/2/3.md)\n      - [4](1/2/3/4.md)\n        - [5](1/2/3/4/5.md)\n          - [6](1/2/3/4/5/6.md)\n- [7](7.md)\n",
		"docs/1.md":       "# 1\n", "docs/1/2.md": "## 2\n", "docs/1/2/3.md": "### 3\n", "docs/1/2/3/4.md": "#### 4\n",
		"docs/1/2/3/4/5.md": "##### 5\n", "docs/1/2/3/4/5/6.md": "###### 6\n", "docs/7.md": "no heading\n",
	}},
	"README.md in every folder and case": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [Front](README.md)\n- [a](a/readme.md)\n- [b](b/ReadMe.md)\n",
		"docs/README.md":  "# Front\n", "docs/a/readme.md": "# a\n\n[front](../index.md)\n", "docs/b/ReadMe.md": "# b\n",
	}},
	"pages that aren't chapters, and files of all kinds": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [Start](start.md)\n",
		"docs/start.md":   "# Start\n\n[page](page.html) [text](notes.txt)\n",
		"docs/draft.md":   "# Nobody reads this\n", "docs/sub/more.md": "# Nor this\n",
		"docs/page.html": "<p>by hand</p>\n", "docs/notes.txt": "notes\n", "docs/x.mdx": "x\n", "docs/UPPER.MD": "# X\n", "docs/noext": "x\n",
		"docs/data.json": "{}\n", "docs/empty": "", "docs/binary.bin": "\x00\x01\xff", "docs/a.tar.gz": "\x1f\x8b",
	}},
	"empty pages": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [Empty](empty.md)\n- [Blank](blank.md)\n- [Last](last.md)\n",
		"docs/empty.md":   "", "docs/blank.md": "\n\n  \n", "docs/last.md": "x",
	}},
	"three hundred pages": {Src: "docs", Files: manyPages(300)},
	"what editors and git leave behind": {
		Src: "docs",
		Files: files{
			"docs/SUMMARY.md": "- [Start](start.md)\n", "docs/start.md": "# Start\n",
			"docs/start.md~": "old\n", "docs/.start.md.swp": "x", "docs/.DS_Store": "x", "docs/.gitignore": "x\n", "docs/.idea/x.xml": "x\n", "docs/.vscode/s.json": "x",
		},
		Stays: []string{"start.md~", ".start.md.swp", ".DS_Store", ".gitignore", ".idea/x.xml", ".vscode/s.json"},
	},
	"a folder of which some is ignored": {
		Spec: "contentFrom: [{directory: {path: docs, ignore: \"drafts/\\n*.psd\\n\"}}]", Src: "docs",
		Files: files{
			"docs/SUMMARY.md": "- [Start](start.md)\n", "docs/start.md": "# Start\n", "docs/drafts/x.txt": "x\n", "docs/a.psd": "x\n",
		},
		Stays: []string{"drafts/x.txt", "a.psd"},
	},
}

// manyPages are those of a folder docs.
func manyPages(n int) files {
	made := files{}
	var list strings.Builder
	list.WriteString("[Start](start.md)\n\n")
	made["docs/start.md"] = "# Start\n"
	for i := range n {
		fmt.Fprintf(&list, "- [Page %d](part%d/page%d.md)\n", i, i%10, i)
		made[fmt.Sprintf("docs/part%d/page%d.md", i%10, i)] = fmt.Sprintf("# Page %d\n\nText of page %d, see [the next](../part%d/page%d.md).\n", i, i, (i+1)%n%10, (i+1)%n)
	}
	made["docs/SUMMARY.md"] = list.String()
	return made
}
