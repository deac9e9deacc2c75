package book

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

func TestParseConfigFaults(t *testing.T) {
	tests := map[string]struct {
		toml string
		want diagnostic.List
	}{
		"an unknown table": {
			toml: "[bok]\nx = 1\n",
			want: diagnostic.List{{File: "book.toml", Line: 1,
				Message: "mdBook 0.5 doesn't know the key bok; it doesn't start: did you mean \"book\"?"}},
		},
		"a table in another case, whose keys don't count": {
			toml: "\n[Book]\nsrc = 'x'",
			want: diagnostic.List{{File: "book.toml", Line: 2,
				Message: "mdBook 0.5 doesn't know the key Book; it doesn't start: did you mean \"book\"?"}},
		},
		"unknown keys, in the order of the file": {
			toml: "rust = {version = 1}\n[build]\n  watch = true\n[book]\nmultilingual = false",
			want: diagnostic.List{
				{File: "book.toml", Line: 1,
					Message: "mdBook 0.5 doesn't know the key rust.version; it doesn't start: remove it, or set spec.viewerImage to an mdBook that knows it"},
				{File: "book.toml", Line: 3,
					Message: "mdBook 0.5 doesn't know the key build.watch; it doesn't start: remove it, or set spec.viewerImage to an mdBook that knows it"},
				{File: "book.toml", Line: 5,
					Message: "mdBook 0.5 doesn't know the key book.multilingual, which mdBook 0.4 had: it never had an effect; it doesn't start"},
			},
		},
		"keys of other tables, and one that several have": {
			toml: "[html]\nx = 1\n[book]\nmathjax-support = true\nedition = '2024'\n[output.html]\nauthors = ['me']\nsearch.line-numbers = true\n",
			want: diagnostic.List{
				{File: "book.toml", Line: 1,
					Message: "mdBook 0.5 doesn't know the key html; it doesn't start: it belongs in [output]"},
				{File: "book.toml", Line: 4,
					Message: "mdBook 0.5 doesn't know the key book.mathjax-support; it doesn't start: it belongs in [output.html]"},
				{File: "book.toml", Line: 5,
					Message: "mdBook 0.5 doesn't know the key book.edition; it doesn't start: it belongs in [rust]"},
				{Severity: diagnostic.Warning, File: "book.toml", Line: 7,
					Message: "mdBook 0.5 doesn't know the key output.html.authors; it ignores all of [output.html] then: it belongs in [book]"},
				{Severity: diagnostic.Warning, File: "book.toml", Line: 8,
					Message: "mdBook 0.5 doesn't know the key output.html.search.line-numbers; it ignores all of [output.html] then: remove it, or set spec.viewerImage to an mdBook that knows it"},
			},
		},
		"values that mdBook doesn't know": {
			toml: "[book]\ntext-direction = 'up'\n[rust]\nedition = '2027'",
			want: diagnostic.List{
				{File: "book.toml", Line: 2,
					Message: `book.text-direction is "up", mdBook 0.5 knows only ltr, rtl; it doesn't start`},
				{File: "book.toml", Line: 4,
					Message: `rust.edition is "2027", mdBook 0.5 knows only 2015, 2018, 2021, 2024; it doesn't start`},
			},
		},
		"an unknown key of the HTML renderer": {
			toml: "[output.html]\ncurly-quotes = true\n[output.html.fold]\ndepth = 1",
			want: diagnostic.List{
				{Severity: diagnostic.Warning, File: "book.toml", Line: 2,
					Message: "mdBook 0.5 doesn't know the key output.html.curly-quotes, which mdBook 0.4 had: write smart-punctuation; it ignores all of [output.html] then"},
				{Severity: diagnostic.Warning, File: "book.toml", Line: 4,
					Message: "mdBook 0.5 doesn't know the key output.html.fold.depth; it ignores all of [output.html] then: remove it, or set spec.viewerImage to an mdBook that knows it"},
			},
		},
		"keys that are near to others of their table": {
			toml: "[output.html]\nadditional_css = ['a.css']\n[output.html.fold]\nenabled = true\ntheme = 'x'",
			want: diagnostic.List{
				{Severity: diagnostic.Warning, File: "book.toml", Line: 2,
					Message: "mdBook 0.5 doesn't know the key output.html.additional_css; it ignores all of [output.html] then: did you mean \"additional-css\"?"},
				{Severity: diagnostic.Warning, File: "book.toml", Line: 4,
					Message: "mdBook 0.5 doesn't know the key output.html.fold.enabled; it ignores all of [output.html] then: did you mean \"enable\"?"},
				{Severity: diagnostic.Warning, File: "book.toml", Line: 5,
					Message: "mdBook 0.5 doesn't know the key output.html.fold.theme; it ignores all of [output.html] then: it belongs in [output.html]"},
			},
		},
		"values of wrong types for the HTML renderer": {
			toml: "[output.html]\nadditional-js = ['a', 1]\n[output.html.fold]\nlevel = 256\n[output.html.redirect]\n'/a.html' = 1\n[output.html.search]\nlimit-results = -1",
			want: diagnostic.List{
				{Severity: diagnostic.Warning, File: "book.toml", Line: 2,
					Message: "output.html.additional-js must be a list of strings for mdBook 0.5; it ignores all of [output.html] then"},
				{Severity: diagnostic.Warning, File: "book.toml", Line: 4,
					Message: "output.html.fold.level must be a whole number from 0 to 255 for mdBook 0.5; it ignores all of [output.html] then"},
				{Severity: diagnostic.Warning, File: "book.toml", Line: 6,
					Message: "output.html.redirect./a.html must be a string for mdBook 0.5; it ignores all of [output.html] then"},
				{Severity: diagnostic.Warning, File: "book.toml", Line: 8,
					Message: "output.html.search.limit-results must be a whole number from 0 to 4294967295 for mdBook 0.5; it ignores all of [output.html] then"},
			},
		},
		"two names of one table": {
			toml: "[output.html.playpen]\n[output.html.playground]",
			want: diagnostic.List{{Severity: diagnostic.Warning, File: "book.toml", Line: 1,
				Message: "output.html.playpen is the former name of output.html.playground, and mdBook 0.5 takes only one of them; it ignores all of [output.html] then"}},
		},
		"preprocessors that run before each other": {
			toml: "[preprocessor.a]\nbefore = ['b']\n[preprocessor.b]\nbefore = ['links']\n[preprocessor.c]\nafter = ['links']\nbefore = ['a']",
			want: diagnostic.List{{File: "book.toml", Line: 3,
				Message: "mdBook 0.5 finds that by before and after (drop one of them) each of the preprocessors b, links, c, a has to run before the next, and the last before the first; it doesn't start"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseConfig([]byte(test.toml))
			if err != nil {
				t.Fatal(err)
			}
			want := defaults(func(c *Config) {
				c.Faults = test.want
				c.HTMLIgnored = test.want[len(test.want)-1].Severity == diagnostic.Warning
			})
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Config{}, "Redirects", "Preprocessors")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
