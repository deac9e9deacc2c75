package generator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

const icons = "\n[output.html]\ngit-repository-url = 'https://example.com'\ngit-repository-icon = "

// fatalBooks are what keeps mdBook from starting, and what is close to it.
var fatalBooks = map[string]fatalBook{
	"an icon that mdBook has": {toml: icons + "'fas-code-fork'"},
	"an icon of mdBook 0.4": {
		toml: icons + "'fa-github'",
		want: []string{`book.toml: output.html.git-repository-icon is "fa-github", an icon that mdBook 0.5 doesn't have among the regular ones of Font Awesome: did you mean fab-github?`},
	},
	"an icon of no name": {
		toml: icons + "''",
		want: []string{`book.toml: output.html.git-repository-icon is "", an icon that mdBook 0.5 doesn't have among the regular ones of Font Awesome: write fab-github, or another of https://fontawesome.com/v6/search?m=free with fab- for brands, fas- for solid and fa- for regular ones`},
	},
	"an unknown icon that isn't shown": {toml: "[output.html]\ngit-repository-icon = 'fa-github'"},
	"an unknown icon in a template that doesn't show it": {
		toml:  icons + "'fa-github'",
		files: map[string]string{"theme/index.hbs": "{{{content}}}"},
	},
	"an unknown icon in what is ignored": {
		toml: icons + "'fa-github'\nx = 1",
		want: []string{"?book.toml:5: mdBook 0.5 doesn't know the key output.html.x; it ignores all of [output.html] then: remove it, or set spec.viewerImage to an mdBook that knows it"},
	},
	"a template of mdBook 0.4": {
		files: map[string]string{"theme/index.hbs": "{{{content}}}\n{{#previous}}{{/previous}}"},
		want:  []string{"theme/index.hbs:2: mdBook 0.5 has no helper previous (mdBook 0.4 had it: write {{#if previous}}, and previous.link for its link), so it doesn't start"},
	},
	"a template in another theme": {
		toml:  "[output.html]\ntheme = 'look'",
		files: map[string]string{"look/head.hbs": "{{#if}}", "theme/index.hbs": "{{"},
		want:  []string{"look/head.hbs:1: mdBook 0.5 can't read the template from here on: a tag or a block isn't closed"},
	},
	"a theme in the source folder": {
		toml:  "[output.html]\ntheme = 'src/look'",
		pages: map[string]string{"look/head.hbs": "{{x y}}"},
		want:  []string{"look/head.hbs:1: mdBook 0.5 has no helper x, so it doesn't start"},
	},
	"a template for redirects that there are": {
		toml:  "[output.html.redirect]\n'/old.html' = 'a.html'",
		files: map[string]string{"theme/redirect.hbs": "{{x y}}"},
		want:  []string{"theme/redirect.hbs:1: mdBook 0.5 has no helper x, so it doesn't start"},
	},
	"a template for redirects that there aren't": {
		files: map[string]string{"theme/redirect.hbs": "{{x y}}"},
		want:  []string{"?theme/redirect.hbs:1: mdBook 0.5 has no helper x, so it fails when it gets here"},
	},
	"what isn't UTF-8": {
		toml:  "[output.html]\nadditional-css = ['a.css', 'b.txt']\nadditional-js = ['a.js']",
		files: map[string]string{"a.css": "\xff", "b.txt": "\xff", "a.js": "\xff", "theme/fonts/x.css": "\xff", "theme/fonts/fonts.css": "\xff", "theme/fonts/x.woff2": "\xff", "theme/css/general.css": "\xff", "theme/book.js": "\xff"},
		want: []string{
			"a.css: is not UTF-8 text, as which mdBook reads this file: save it as UTF-8",
			"a.js: is not UTF-8 text, as which mdBook reads this file: save it as UTF-8",
			"theme/fonts/x.css: is not UTF-8 text, as which mdBook reads this file: save it as UTF-8",
		},
	},
	"style sheets that aren't UTF-8 and that mdBook only copies": {
		files: map[string]string{"theme/fonts/fonts.css": "\xff", "theme/css/general.css": "\xff", "theme/book.js": "\xff", "theme/fonts/x.woff2": "\xff"},
	},
	"a page for unknown addresses that isn't UTF-8": {
		pages: map[string]string{"404.md": "\xff"},
		want:  []string{"404.md: is not UTF-8 text, as which mdBook reads this file: save it as UTF-8"},
	},
	"another page for unknown addresses that isn't UTF-8": {
		toml:  "output.html.input-404 = 'lost.txt'",
		pages: map[string]string{"lost.txt": "\xff", "404.md": "\xff"},
		want:  []string{"lost.txt: is not UTF-8 text, as which mdBook reads this file: save it as UTF-8"},
	},
	"no page for unknown addresses": {
		toml:  "output.html.input-404 = ''",
		pages: map[string]string{"404.md": "\xff"},
	},
	"settings for the search of chapters": {toml: "[output.html.search.chapter]\n'a.md'.enable = false\n'guide'.enable = false\n'guide//README.md/'.enable = true\n''.enable = true\n'guide/./b.md'.enable = true"},
	"settings for the search of what is no chapter": {
		toml: "[output.html.search.chapter]\n'./a.md'.enable = false\n'gui'.enable = false\n'/guide'.enable = true\n'guide/index.md'.enable = true",
		want: []string{
			`book.toml: output.html.search.chapter has settings for "./a.md", which is no chapter's path, nor the beginning of one: write a.md`,
			`book.toml: output.html.search.chapter has settings for "/guide", which is no chapter's path, nor the beginning of one: write the path of a page, or of a folder of pages, below the source folder`,
			`book.toml: output.html.search.chapter has settings for "gui", which is no chapter's path, nor the beginning of one: write the path of a page, or of a folder of pages, below the source folder`,
			`book.toml: output.html.search.chapter has settings for "guide/index.md", which is no chapter's path, nor the beginning of one: write the path of a page, or of a folder of pages, below the source folder`,
		},
	},
	"settings for the search of the folder itself": {
		toml: "[output.html.search.chapter]\n'.'.enable = false",
		want: []string{`book.toml: output.html.search.chapter has settings for ".", which is no chapter's path, nor the beginning of one: write the path of a page, or of a folder of pages, below the source folder`},
	},
	"settings for a search that there isn't": {toml: "[output.html.search]\nenable = false\nchapter.'x'.enable = false"},
	"an empty command": {
		toml: "[preprocessor.x]\ncommand = ' '\noptional = true",
		want: []string{"book.toml: [preprocessor.x] has an empty command: name a program, or drop the key"},
	},
	"preprocessors in a circle": {
		toml: "[preprocessor.links]\nafter = ['index']\nbefore = ['index']",
		want: []string{"book.toml:1: mdBook 0.5 finds that by before and after (drop one of them) each of the preprocessors links, index has to run before the next, and the last before the first; it doesn't start"},
	},
	"additional files with the names of folders": {
		toml:  "[output.html]\nadditional-css = ['css', 'a.html/x.css', 'img', 'look/x.css']\nadditional-js = ['img.png/x.js']",
		files: map[string]string{"css": "", "a.html/x.css": "", "img": "", "img.png/x.js": "", "look/x.css": ""},
		pages: map[string]string{"img/x.png": "", "img.png": "", "look/y.png": ""},
		want: []string{
			"book.toml: output.html.additional-css or -js names css, which has the name of a folder of the site: rename it",
			"book.toml: output.html.additional-css or -js names img, which has the name of a folder of the site: rename it",
		},
	},
	"additional files below what has the name of a page": {
		toml:  "[output.html]\nadditional-css = ['a.html/x.css']\nadditional-js = ['img.png/x.js']",
		files: map[string]string{"a.html/x.css": "", "img.png/x.js": ""},
		pages: map[string]string{"img.png": ""},
	},
	"names that begin with two dots": {
		pages: map[string]string{"SUMMARY.md": "- [A](..a.md)\n", "..a.md": "![x](..foo.png)", "..foo.png": "", "..x/..y.png": ""},
	},
	"the page that mdBook keeps for itself": {
		pages: map[string]string{"SUMMARY.md": "- [P](print.md)\n", "print.md": ""},
		want:  []string{`SUMMARY.md:1: chapter "P" links to print.md, a name that mdBook keeps for the page that it makes for printing: rename the page`},
	},
}

func TestFatalBooks(t *testing.T) {
	for name, test := range fatalBooks {
		t.Run(name, func(t *testing.T) {
			content := Content{Field: folder[:len(folder)-len(": ")], Book: test.book()}
			view := newView("a", nil)
			view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
			if diff := cmp.Diff(test.want, faultsOf(t, view, content)); diff != "" {
				t.Error(diff)
			}
			output, ok := runMDBook(t, test.book())
			if want := len(test.want) == 0 || strings.HasPrefix(test.want[0], "?"); ok != want {
				t.Errorf("mdBook succeeds: %v\n%s", ok, output)
			}
		})
	}
}

// What another version does isn't known for sure.
func TestFatalBooksWithAnotherImage(t *testing.T) {
	for _, name := range []string{"an icon of mdBook 0.4", "a template of mdBook 0.4", "settings for the search of what is no chapter", "what isn't UTF-8", "preprocessors in a circle"} {
		t.Run(name, func(t *testing.T) {
			test := fatalBooks[name]
			view := newView("a", nil)
			view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
			view.Spec.ViewerImage = "example.com/mdbook"
			var want []string
			for _, line := range test.want {
				want = append(want, "?"+line)
			}
			content := Content{Field: folder[:len(folder)-len(": ")], Book: test.book()}
			if diff := cmp.Diff(want, faultsOf(t, view, content)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// faultsOf lists the problems of a view, or else its warnings with a "?", without the
// field.
func faultsOf(t *testing.T, view *v1.MarkdownView, content Content) []string {
	t.Helper()
	output, err := Generate(view, []Content{content})
	if err != nil {
		return mapped(problemsOf(t, view, content), func(s string) string { return strings.TrimPrefix(s, folder) })
	}
	return mapped(output.Warnings, func(p Problem) string {
		p.Field = ""
		return "?" + p.String()
	})
}
