//go:build linux

package corpus

// page are the files of a folder docs with one chapter.
func page(summary, text string) files {
	return files{"docs/SUMMARY.md": summary, "docs/a.md": text}
}

// refused are books that mdBook doesn't build, or that it builds nothing of.
var refused = map[string]book{
	"a chapter that is missing":            {Src: "docs", Refused: "SUMMARY.md:2", Files: page("- [A](a.md)\n- [B](gone.md)\n", "# A\n")},
	"a chapter in another case":            {Src: "docs", Refused: "A.md", Files: page("- [A](A.md)\n", "# A\n")},
	"a chapter twice":                      {Src: "docs", Refused: "a.md", Files: page("- [A](a.md)\n- [Again](a.md)\n", "# A\n")},
	"a chapter twice, written differently": {Src: "docs", Refused: "a.md", Lives: "it renders both to one page", Files: page("- [A](a.md)\n- [Again](./a.md)\n", "# A\n")},
	"no SUMMARY.md":                        {Src: "docs", Refused: "SUMMARY.md", Files: files{"docs/a.md": "# A\n"}},
	"SUMMARY.md in small letters":          {Src: "docs", Refused: "SUMMARY.md", Files: files{"docs/summary.md": "- [A](a.md)\n", "docs/a.md": "# A\n"}},
	"a list without links":                 {Src: "docs", Refused: "SUMMARY.md:1", Files: page("- A\n", "# A\n")},
	"a list after a suffix chapter":        {Src: "docs", Refused: "SUMMARY.md", Files: page("- [A](a.md)\n\n[B](b.md)\n\n- [C](c.md)\n", "# A\n")},
	"an empty SUMMARY.md":                  {Src: "docs", Refused: "SUMMARY.md", Lives: "it builds a site without a start page", Files: page("", "# A\n")},
	"drafts only":                          {Src: "docs", Refused: "SUMMARY.md", Lives: "it builds a site without a start page", Files: page("- [A]()\n", "# A\n")},
	"a page that isn't UTF-8":              {Src: "docs", Refused: "UTF-8", Files: page("- [A](a.md)\n", "# A \xff\n")},
	"a chapter called print.md":            {Src: "docs", Refused: "print.md", Files: files{"docs/SUMMARY.md": "- [A](print.md)\n", "docs/print.md": "# A\n"}},
	"a chapter of a folder":                {Src: "docs", Refused: "sub", Files: files{"docs/SUMMARY.md": "- [A](sub)\n", "docs/sub/a.md": "# A\n"}},
	"no TOML":                              {Refused: "book.toml:1", Files: start(files{"book.toml": "title = \n"})},
	"a key twice":                          {Refused: "book.toml:3", Files: start(files{"book.toml": "[book]\ntitle = \"a\"\ntitle = \"b\"\n"})},
	"a title that is a number":             {Refused: "title", Files: start(files{"book.toml": "[book]\ntitle = 1\n"})},
	"an unknown key of the book":           {Refused: "titel", Files: start(files{"book.toml": "[book]\ntitel = \"a\"\n"})},
	"multilingual of old":                  {Refused: "multilingual", Files: start(files{"book.toml": "[book]\nmultilingual = false\n"})},
	"a source folder that is missing":      {Refused: "docs", Files: start(files{"book.toml": "[book]\nsrc = \"docs\"\n"})},
	"a style sheet that is missing":        {Refused: "gone.css", Files: start(files{"book.toml": "[output.html]\nadditional-css = [\"gone.css\"]\n"})},
	"a theme that is missing":              {Refused: "look", Files: start(files{"book.toml": "[output.html]\ntheme = \"look\"\n"})},
	"a page 404 that is missing":           {Refused: "gone.md", Files: start(files{"book.toml": "[output.html]\ninput-404 = \"gone.md\"\n"})},
	"a redirect to a folder's name":        {Refused: "redirect", Files: start(files{"book.toml": "[output.html.redirect]\n\"/old/\" = \"start.html\"\n"})},
	"a redirect of fragments only":         {Refused: "redirect", Files: start(files{"book.toml": "[output.html.redirect]\n\"/old.html#x\" = \"start.html\"\n"})},
	"an icon of mdBook 0.4":                {Refused: "fa-github", Files: start(files{"book.toml": "[output.html]\ngit-repository-url = \"https://example.com\"\ngit-repository-icon = \"fa-github\"\n"})},
	"a template of mdBook 0.4":             {Refused: "index.hbs", Files: start(files{"book.toml": "", "theme/index.hbs": "{{#previous}}<a href=\"{{link}}\">x</a>{{/previous}}{{#toc}}{{/toc}}{{{content}}}\n"})},
	"a template that can't be read":        {Refused: "index.hbs", Files: start(files{"book.toml": "", "theme/index.hbs": "{{#if x}}\n"})},
	"a template with an unknown partial":   {Refused: "head", Files: start(files{"book.toml": "", "theme/index.hbs": "{{> mine}}{{{content}}}\n"})},
	"search of a chapter that isn't":       {Refused: "gone", Files: start(files{"book.toml": "[output.html.search.chapter]\n\"gone\" = { enable = false }\n"})},
	"a style sheet that isn't UTF-8":       {Refused: "x.css", Files: start(files{"book.toml": "[output.html]\nadditional-css = [\"x.css\"]\n", "x.css": "a {} \xff\n"})},
	"preprocessors before each other":      {Refused: "before and after", Files: start(files{"book.toml": "[preprocessor.a]\ncommand = \"cat\"\nbefore = [\"b\"]\n[preprocessor.b]\ncommand = \"cat\"\nbefore = [\"a\"]\n"})},
	"only another renderer":                {Refused: "output", Lives: "it builds no site", Files: start(files{"book.toml": "[output.markdown]\n"})},
}
