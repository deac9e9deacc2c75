package book

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

func defaults(change func(*Config)) Config {
	c := Config{Src: "src", BuildDir: "book", Theme: "theme", ExpandsIncludes: true, RendersHTML: true, RepositoryIcon: "fab-github"}
	if change != nil {
		change(&c)
	}
	return c
}

func TestParseConfig(t *testing.T) {
	tests := map[string]struct {
		toml string
		want Config
	}{
		"an empty file gives mdBook's defaults": {
			toml: "",
			want: defaults(nil),
		},
		"a byte order mark is skipped": {
			toml: "\ufeff[book]\nsrc = 'pages'",
			want: defaults(func(c *Config) { c.Src = "pages" }),
		},
		"CRLF ends lines": {
			toml: "[book]\r\nsrc = 'pages'\r\n",
			want: defaults(func(c *Config) { c.Src = "pages" }),
		},
		"paths are cleaned": {
			toml: "[book]\nsrc = './docs//pages/'\n[build]\nbuild-dir = './out/site/'\n[output.html]\ntheme = './look'\nadditional-css = ['./look/../a.css']\nadditional-js = ['./b.js', 'c.js']",
			want: defaults(func(c *Config) {
				c.Src, c.BuildDir, c.Theme, c.ThemeRequired = "docs/pages", "out/site", "look", true
				c.AdditionalCSS, c.AdditionalJS = []string{"a.css"}, []string{"b.js", "c.js"}
				c.Written = []string{"./look/../a.css"}
			}),
		},
		"the root as source folder": {
			toml: "book.src = '.'",
			want: defaults(func(c *Config) { c.Src = "." }),
		},
		"an empty source folder is the root": {
			toml: "book = {src = ''}",
			want: defaults(func(c *Config) { c.Src = "." }),
		},
		"a build folder outside of the book": {
			toml: "[build]\nbuild-dir = '../site'",
			want: defaults(func(c *Config) { c.BuildDir = "../site" }),
		},
		"an absolute build folder": {
			toml: "[build]\nbuild-dir = '/site'",
			want: defaults(func(c *Config) { c.BuildDir = "" }),
		},
		"paths that lead out of the book": {
			toml: "book.src = 'a/../../pages'\n[output.html]\ntheme = '../..'\nadditional-css = ['../ferris.css']\nadditional-js = ['a/../../../x.js']\ninput-404 = '../404.md'",
			want: defaults(func(c *Config) {
				c.Src, c.Theme, c.ThemeRequired = "../pages", "../..", true
				c.AdditionalCSS, c.AdditionalJS, c.Input404 = []string{"../ferris.css"}, []string{"../../x.js"}, "../404.md"
				c.Written = []string{"a/../../pages", "a/../../../x.js", "a/../../pages/../404.md"}
			}),
		},
		"a build folder that is the root can't be left out": {
			toml: "[build]\nbuild-dir = '.'",
			want: defaults(func(c *Config) { c.BuildDir = "" }),
		},
		"an empty theme is the root, and named": {
			toml: "[output.html]\ntheme = ''",
			want: defaults(func(c *Config) { c.Theme, c.ThemeRequired = ".", true }),
		},
		"the page for unknown addresses may be beside the source folder": {
			toml: "[output.html]\ninput-404 = '../errors/404.md'",
			want: defaults(func(c *Config) {
				c.Input404, c.Written = "../errors/404.md", []string{"src/../errors/404.md"}
			}),
		},
		"an empty page for unknown addresses switches it off": {
			toml: "[output.html]\ninput-404 = ''",
			want: defaults(func(c *Config) { c.No404 = true }),
		},
		"folders that are watched stay as written": {
			toml: "[build]\nextra-watch-dirs = ['../code', 'x/']",
			want: defaults(func(c *Config) { c.ExtraWatchDirs = []string{"../code", "x/"} }),
		},
		"preprocessors by name, without mdBook's own and those for other renderers": {
			toml: "[preprocessor.toc]\n[preprocessor.links]\n[preprocessor.index]\n[preprocessor.pdf]\nrenderers = ['pdf']\n[preprocessor.mermaid]\ncommand = 'mdbook-mermaid -v'\noptional = true\nrenderers = ['html']\nown = 1",
			want: defaults(func(c *Config) {
				c.Preprocessors = []Plugin{
					{Name: "mermaid", Command: "mdbook-mermaid -v", Optional: true, Line: 6, Column: 15},
					{Name: "toc", Command: "mdbook-toc", Line: 1, Column: 15},
				}
			}),
		},
		"renderers beside HTML": {
			toml: "[output.html]\n[output.linkcheck]\noptional = true\nfollow-web-links = true\n[output.markdown]",
			want: defaults(func(c *Config) {
				c.SeveralRenderers = true
				c.Renderers = []Plugin{{Name: "linkcheck", Command: "mdbook-linkcheck", Optional: true, Line: 2, Column: 9}}
			}),
		},
		"other renderers alone build no HTML": {
			toml: "[output.markdown]",
			want: defaults(func(c *Config) { c.RendersHTML = false }),
		},
		"without the default preprocessors nothing is included": {
			toml: "[build]\nuse-default-preprocessors = false",
			want: defaults(func(c *Config) { c.ExpandsIncludes = false }),
		},
		"links named as a preprocessor includes again": {
			toml: "[build]\nuse-default-preprocessors = false\n[preprocessor.links]",
			want: defaults(nil),
		},
		"a whole configuration without a fault": {
			toml: wholeConfig,
			want: defaults(func(c *Config) {
				c.AdditionalCSS = []string{"a.css"}
				c.Redirects = map[string]string{"/a.html": "b.html"}
				c.SearchChapters = []string{"a/b"}
				c.SiteURL = "/"
				c.RepositoryURL, c.RepositoryIcon = "https://example.com", "fa-github"
			}),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseConfig([]byte(test.toml))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const wholeConfig = `book = { # TOML 1.1, as mdBook's parser
  title = "Handbook", authors = ["A", "B"], description = "d", language = "ja", text-direction = "ltr",
}
[build]
create-missing = false
use-default-preprocessors = true
[rust]
edition = "2024"
[output.html]
default-theme = "rust"
preferred-dark-theme = "navy"
smart-punctuation = true
definition-lists = true
admonitions = true
mathjax-support = false
additional-css = ["a.css"]
no-section-label = false
git-repository-url = "https://example.com"
git-repository-icon = "fa-github"
site-url = "/"
cname = "example.com"
edit-url-template = "https://example.com/{path}"
hash-files = true
sidebar-header-nav = true
fold = {enable = true, level = 255}
playground.editable = true
code.hidelines.python = "~"
print.enable = true
[output.html.search]
limit-results = 4000000000
chapter."a/b".enable = false
[output.html.redirect]
"/a.html" = "b.html"
`

func TestParseConfigErrors(t *testing.T) {
	tests := map[string]struct{ toml, want string }{
		"no TOML":                     {"[book\n", "book.toml:1: column 6: expected ']' to close table name"},
		"a value that is missing":     {"[book]\nsrc =\n", "book.toml:2: column 6: unexpected character U+000A at start of value"},
		"a key twice":                 {"[book]\nsrc = 'a'\nsrc = 'b'", "book.toml:3: column 1: key src is already defined"},
		"invalid UTF-8":               {"[book]\nsrc = 'a\xff'", "book.toml:2: column 9: invalid UTF-8 character in literal string"},
		"a table that is a number":    {"a = 1\nbook = 3", "book.toml:2: column 1: book must be a table"},
		"a table that is a list":      {"[[book]]\nsrc = 'a'", "book.toml:1: column 3: book must be a table"},
		"a string that is a number":   {"[book]\ntitle = 20", "book.toml:2: column 1: book.title must be a string"},
		"a list that is a string":     {"[book]\nauthors = 'a'", "book.toml:2: column 1: book.authors must be a list of strings"},
		"a flag that is a string":     {"[build]\ncreate-missing = 'yes'", "book.toml:2: column 1: build.create-missing must be true or false"},
		"an edition without quotes":   {"[rust]\nedition = 2021", "book.toml:2: column 1: rust.edition must be a string"},
		"a command of a wrong type":   {"[output.html]\ncommand = 1", "book.toml:2: column 1: output.html.command must be a string"},
		"HTML switched off":           {"[output]\nhtml = false", "book.toml:2: column 1: output.html must be a table"},
		"a preprocessor, not a table": {"[preprocessor]\ntoc = true", "book.toml:2: column 1: preprocessor.toc must be a table"},
		"a command that is a list":    {"[output.pdf]\ncommand = ['a']", "book.toml:2: column 1: output.pdf.command must be a string"},
		"the first of several":        {"[build]\nbuild-dir = 1\n[book]\nsrc = 2\ntitle = 3", "book.toml:2: column 1: build.build-dir must be a string"},
		"an absolute source folder": {"[book]\nsrc = '/srv/pages'",
			`book.toml:2: column 1: book.src is "/srv/pages", which is outside of the book's folder: the viewer has only what is inside, so move it there`},
		"a source folder that no volume can have": {"[book]\nsrc = '..pages'",
			`book.toml:2: column 1: book.src is "..pages": a path must not start with "..": Kubernetes keeps such names in a mounted ConfigMap for itself`},
		"a source folder with a control character": {"[book]\nsrc = \"a\\u0000\"",
			`book.toml:2: column 1: book.src is "a\x00": a path must not contain control or invisible formatting characters: rename the file`},
		"a style sheet that is a folder": {"[output.html]\nadditional-css = ['a.css', '..']",
			`book.toml:2: column 1: output.html.additional-css is "..", which is a folder: name a file`},
		"too many keys": {manyLines(100_000, "k%d=1\n"), "book.toml:10001: column 1: has more than 10000 keys: keep in it what mdBook reads, or make several books of it"},
		"too many keys in one line": {"a = {" + strings.ReplaceAll(manyLines(150_000, "k%d=1,\n"), "\n", "") + "k=1}",
			"book.toml:1: column 78888: has more than 10000 keys: keep in it what mdBook reads, or make several books of it"},
		"too many bytes": {strings.Repeat("#", 1<<20), "book.toml: has 1048576 bytes, may have at most 262144: keep in it what mdBook reads, or make several books of it"},
		"a style sheet without a name": {"[output.html]\nadditional-css = ['']",
			`book.toml:2: column 1: output.html.additional-css is "": a path must name a file such as guide/intro.md, not a folder`},
		"an absolute page for unknown addresses": {"[output.html]\ninput-404 = '/404.md'",
			`book.toml:2: column 1: output.html.input-404 is "/404.md", which is outside of the book's folder: the viewer has only what is inside, so move it there`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParseConfig([]byte(test.toml))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The largest texts of the worst kinds: this test would take minutes if one of the
// limits were gone.
func TestParseConfigStaysQuick(t *testing.T) {
	texts := map[string]string{
		"unknown keys":   manyLines(MaxConfigBytes-100, "k%d=1\n"),
		"unknown tables": manyLines(9*MaxConfigKeys, "[t%d]\n"),
		"list of tables": strings.Repeat("[[t]]\n", MaxConfigKeys),
		"dots":           "[" + strings.Repeat("a.", MaxConfigBytes/2-2) + "a]",
		"brackets":       "a = " + strings.Repeat("[", MaxConfigBytes-4),
		"one list":       "book.authors = [" + strings.Repeat("'',", MaxConfigBytes/3-6) + "]",
		"inline tables":  "a = " + strings.Repeat("{a=", 9000) + "1" + strings.Repeat("}", 9000),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			config, err := ParseConfig([]byte(text))
			if err == nil && len(config.Faults) > 20 {
				t.Errorf("%d faults", len(config.Faults))
			}
		})
	}
}

func manyLines(size int, format string) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// books returns the folder with the real books, which a checkout may not have.
func books(t testing.TB) string {
	dir := os.Getenv("MARKDOWN_VIEW_BOOKS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "books")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no books: %v", err)
	}
	return dir
}

func TestParseConfigOfRealBooks(t *testing.T) {
	tests := map[string]Config{
		"cluster-api-book": defaults(func(c *Config) {
			c.AdditionalCSS = []string{"theme/css/custom.css"}
			c.RepositoryURL = "https://sigs.k8s.io/cluster-api"
			c.Redirects = map[string]string{
				"/agenda.html":      "/agenda/2026.html",
				"/agenda/2019.html": "https://docs.google.com/document/d/1Ys-DOR5UsgbMEeciuG0HOgDQc8kZsaWIWJeKJ1-UfbY",
				"/agenda/2020.html": "https://docs.google.com/document/d/1r8ydd2g2NFE4giD9MqLspv0CJcjzC17e4UUQyyNLx2M",
				"/agenda/2022.html": "https://docs.google.com/document/d/1Bk_1581mriNUlwOFpt7SAC3WnaM_gBqLy8aWoiWG-9A",
				"/agenda/2023.html": "https://docs.google.com/document/d/1Ov_rbxOV_O4HeAuwTev1lSwkiLJoBc_HDS1NyI93AcY",
				"/agenda/2024.html": "https://docs.google.com/document/d/187cPvF7_4kCzyM8y4f2nSkUcvSUZwle0XmPlBRALZ1A",
				"/agenda/2025.html": "https://docs.google.com/document/d/1GgFbaYs-H6J5HSQ6a7n4aKpk0nDLE2hgG2NSOM9YIRw",
				"/agenda/2026.html": "https://docs.google.com/document/d/1fKOcbdlRNlpsVViv2cyKNv3HUHxpf-C4EIZVStsfTT0",
				"/developer/providers/migrations/v1.10-to-v1.11.html": "https://release-1-11.cluster-api.sigs.k8s.io/developer/providers/migrations/v1.10-to-v1.11",
				"/developer/providers/migrations/v1.11-to-v1.12.html": "https://release-1-12.cluster-api.sigs.k8s.io/developer/providers/migrations/v1.11-to-v1.12",
				"/tasks/upgrade.html": "/tasks/upgrading-cluster-api-versions.html",
			}
			c.Preprocessors = []Plugin{
				{Name: "embed", Command: "./util-embed.sh", Line: 32, Column: 15},
				{Name: "releaselink", Command: "./util-releaselink.sh", Line: 35, Column: 15},
				{Name: "tabulate", Command: "./util-tabulate.sh", Line: 29, Column: 15},
			}
		}),
		"mdbook-guide": defaults(func(c *Config) {
			c.ExtraWatchDirs = []string{"guide-helper/src"}
			c.RepositoryURL = "https://github.com/rust-lang/mdBook/tree/master/guide"
			c.SiteURL = "/mdBook/"
			c.Redirects = map[string]string{"/format/config.html": "configuration/index.html"}
			c.Preprocessors = []Plugin{{Name: "guide-helper", Command: "cargo run --quiet --manifest-path guide-helper/Cargo.toml", Line: 37, Column: 15}}
		}),
	}
	dir := books(t)
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, name, ConfigPath))
			if err != nil {
				t.Fatal(err)
			}
			got, err := ParseConfig(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzParseConfig looks for panics, for paths that are absolute or not clean and for
// positions that are outside of the text.
func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(wholeConfig))
	f.Add([]byte("\ufeff[book]\r\nsrc = '.'\r\n"))
	f.Add([]byte("[[book]]\n[output]\nhtml = {fold.level = 1e3, 'a.b' = [{x = 1}]}\n"))
	f.Add([]byte("[preprocessor.\"a.b\"]\ncommand = '''\n'''\n[output.html]\nadditional-css = [\n'../x', # c\n]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := ParseConfig(text)
		if err != nil {
			faults := diagnostic.FromError(err)
			if len(faults) != 1 || faults[0].Line < 1 || faults[0].Line > strings.Count(string(text), "\n")+1 {
				t.Errorf("%#v", err)
			}
			return
		}
		paths := append([]string{config.Src, config.Theme, config.BuildDir}, config.AdditionalCSS...)
		for _, p := range append(paths, config.AdditionalJS...) {
			if p != "" && (path.IsAbs(p) || path.Clean(p) != p) {
				t.Errorf("%q isn't relative and clean", p)
			}
		}
		for _, fault := range config.Faults {
			if fault.Line < 1 || fault.Message == "" {
				t.Errorf("%#v", fault)
			}
		}
	})
}
