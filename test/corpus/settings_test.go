//go:build linux

package corpus

import "maps"

// start are the pages of a project of one chapter, with more files.
func start(more files) files {
	made := files{"src/SUMMARY.md": "- [Start](start.md)\n- [Next](sub/next.md)\n", "src/start.md": "# Start\n\nText.\n", "src/sub/next.md": "# Next\n\n## Part\n\nMore text.\n"}
	maps.Copy(made, more)
	return made
}

// settings are books by what their book.toml and theme say.
var settings = map[string]book{
	"every plain setting": {Files: start(files{"book.toml": `[book]
title = "All of it"
authors = ["a", "b"]
description = "What a book says"
language = "de"
text-direction = "rtl"

[rust]
edition = "2021"

[build]
extra-watch-dirs = ["x"]

[output.html]
default-theme = "navy"
preferred-dark-theme = "coal"
smart-punctuation = false
definition-lists = false
admonitions = false
no-section-label = true
git-repository-url = "https://example.com/x"
git-repository-icon = "fab-github"
edit-url-template = "https://example.com/x/edit/main/{path}"
site-url = "/sub/"
cname = "book.example.com"
mathjax-support = true
sidebar-header-nav = false

[output.html.fold]
enable = true
level = 1

[output.html.print]
enable = true
page-break = false

[output.html.code.hidelines]
python = "~"
`})},
	"search is set":            {Files: start(files{"book.toml": "[output.html.search]\nenable = true\nlimit-results = 5\nteaser-word-count = 10\nuse-boolean-and = false\nboost-title = 3\nboost-hierarchy = 2\nboost-paragraph = 1\nexpand = false\nheading-split-level = 2\ncopy-js = true\n\n[output.html.search.chapter]\n\"sub\" = { enable = false }\n\"sub/next.md\" = { enable = true }\n"})},
	"search and print are off": {Files: start(files{"book.toml": "[output.html.search]\nenable = false\n[output.html.print]\nenable = false\n"})},
	"hashed file names":        {Files: start(files{"book.toml": "[output.html]\nhash-files = true\nadditional-css = [\"css/x.css\"]\nadditional-js = [\"x.js\"]\n", "css/x.css": "p { background: url({{ resource \"favicon.svg\" }}) }\n", "x.js": "1;\n"})},
	"style sheets and scripts": {Files: start(files{"book.toml": "[output.html]\nadditional-css = [\"./custom.css\", \"theme/css/more.css\", \"src/in.css\"]\nadditional-js = [\"js/a.js\", \"b.js\"]\n",
		"custom.css": "a {}\n", "theme/css/more.css": "b {}\n", "src/in.css": "c {}\n", "js/a.js": "a;\n", "b.js": "b;\n"})},
	"style sheets from beside the project": {Folder: "book", Files: files{
		"book/book.toml": "[output.html]\nadditional-css = [\"../ferris.css\"]\n", "ferris.css": "a {}\n",
		"book/src/SUMMARY.md": "- [Start](start.md)\n", "book/src/start.md": "# Start\n",
	}},
	"a theme of parts": {Files: start(files{"book.toml": "[book]\ntitle = \"Theme\"\n",
		"theme/head.hbs": "<meta name=\"x\" content=\"{{ book_title }}\">\n", "theme/header.hbs": "<p>{{ title }}</p>\n", "theme/css/general.css": "/* mine */\n", "theme/css/variables.css": "/* mine */\n",
		"theme/favicon.svg": "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n", "theme/favicon.png": "\x89PNG\r\n\x1a\n", "theme/book.js": "// mine\n", "theme/highlight.js": "// mine\n", "theme/unused.txt": "x"})},
	"a theme with an index.hbs": {Files: start(files{"book.toml": "[output.html]\ntheme = \"look/of/it\"\n", "look/of/it/index.hbs": smallIndex, "look/of/it/toc.js.hbs": "// {{#toc}}{{/toc}}\n", "look/of/it/redirect.hbs": "<a href=\"{{url}}\">there</a>\n"})},
	"fonts":                     {Files: start(files{"book.toml": "[book]\ntitle = \"Fonts\"\n", "theme/fonts/fonts.css": "@font-face { font-family: X; src: url(x.woff2) }\n", "theme/fonts/x.woff2": "wOF2\x00\x01\xff"})},
	"an empty fonts.css":        {Files: start(files{"theme/fonts/fonts.css": "", "book.toml": ""})},
	"redirects": {Files: start(files{"book.toml": "[output.html.redirect]\n\"/old.html\" = \"start.html\"\n\"/a/b/c.html\" = \"../../sub/next.html\"\n\"gone.html\" = \"https://example.com/\"\n\"/start.html#x\" = \"sub/next.html#y\"\n",
		"src/start.md": "# Start\n\n[old](old.html) [deep](a/b/c.html)\n"})},
	"404.md":                                   {Files: start(files{"src/404.md": "# Nothing here\n\n[start](start.md)\n", "book.toml": "[output.html]\nsite-url = \"/x/\"\n"})},
	"input-404":                                {Files: start(files{"src/lost/where.md": "# Lost\n", "book.toml": "[output.html]\ninput-404 = \"lost/where.md\"\n"})},
	"playground":                               {Files: start(files{"book.toml": "[output.html.playground]\neditable = true\ncopyable = false\nline-numbers = true\nrunnable = true\n", "src/start.md": "# Start\n\n```rust,editable\nfn main() {}\n```\n\n```rust,ignore\n# hidden\nshown\n```\n\n```rust\nlet x = 1;\n```\n"})},
	"all of Markdown":                          {Files: start(files{"book.toml": "[output.html]\nmathjax-support = true\n", "src/start.md": allMarkdown, "src/pic.svg": "<svg/>\n"})},
	"an unknown setting below output.html":     {Warns: []string{"copy-fonts"}, Files: start(files{"book.toml": "[output.html]\ncopy-fonts = true\ndefault-theme = \"navy\"\n"})},
	"a wrong type below output.html":           {Warns: []string{"output.html"}, Files: start(files{"book.toml": "[output.html]\nmathjax-support = \"yes\"\ndefault-theme = \"navy\"\n"})},
	"a preprocessor that need not be there":    {Lives: "it says that it goes on without", Files: start(files{"book.toml": "[preprocessor.x]\ncommand = \"mdbook-x\"\noptional = true\n"})},
	"a preprocessor for another renderer":      {Files: start(files{"book.toml": "[preprocessor.x]\nrenderers = [\"epub\"]\n"})},
	"another build folder and watched folders": {Files: start(files{"book.toml": "[build]\nbuild-dir = \"src/out\"\nextra-watch-dirs = [\"more\"]\ncreate-missing = true\n", "more/x": "x"})},
	"the view's own book.toml": {
		Spec:    "contentFrom: [{directory: {path: .}}]\nbookToml: |\n  [book]\n  title = \"Mine\"\n  [output.html]\n  additional-css = [\"mine.css\"]\n",
		Files:   start(files{"book.toml": "[book]\ntitle = \"Theirs\"\n[output.html]\nadditional-js = [\"theirs.js\"]\n", "mine.css": "a {}\n", "theirs.js": "1;\n"}),
		Project: start(files{"book.toml": "[book]\ntitle = \"Mine\"\n[output.html]\nadditional-css = [\"mine.css\"]\n", "mine.css": "a {}\n"}),
	},
	"no book.toml but a theme in the view's": {
		Spec:  "contentFrom: [{directory: {path: src}}]\nbookToml: |\n  [book]\n  title = \"Mine\"\n",
		Files: start(nil), Project: start(files{"book.toml": "[book]\ntitle = \"Mine\"\n"}),
	},
}

const smallIndex = `<!DOCTYPE HTML>
<html lang="{{ language }}" class="{{ default_theme }}" dir="{{ text_direction }}">
<head><title>{{ title }}</title>{{> head}}<link rel="stylesheet" href="{{ resource "css/general.css" }}"></head>
<body>{{> header}}{{#toc}}{{/toc}}<main>{{{ content }}}</main>
{{#if previous}}<a href="{{ path_to_root }}{{previous.link}}">{{previous.title}}</a>{{/if}}{{#if next}}<a href="{{ path_to_root }}{{next.link}}">{{next.title}}</a>{{/if}}
{{fa "solid" "angle-left"}}{{#if live_reload_endpoint}}<script>1</script>{{/if}}</body></html>
`

const allMarkdown = `# All of it

Text with *emphasis*, **strong**, ~~strike~~, ` + "`code`" + `, "quotes" -- dashes... and <kbd>HTML</kbd>.
Footnote[^1] and again[^1], [reference][r], <https://example.com>, \\( x^2 \\).

[^1]: The *footnote*.

    With two paragraphs.

[r]: sub/next.md "Title"

Term
: Definition one
: Definition two

> [!NOTE]
> An admonition.

> A quote
> > in a quote

| a | b \| c | d |
|:--|:-:|--:|
| 1 | 2 | 3 |

- [ ] task
- [x] done
  1. one
  2. two

Setext
------

## Heading {#own-id .class data-x="1"}

## Heading

<div class="warning">

Inside *HTML*.

</div>

<details><summary>More</summary>

hidden

</details>

` + "```rust,editable\n# fn main() {\nlet a = 1;\n# }\n```\n\n~~~text\ntildes\n~~~\n\n    indented code\n\n```mermaid\ngraph TD;\n```\n\n$$\nx\n$$\n\n***\n\n![image](pic.svg \"title\")\\\nbreak &amp; &copy; &#x1F600;\n\n[pic]: pic.svg\n"
