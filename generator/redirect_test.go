package generator

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestARedirectFromAChapterIsAProblem(t *testing.T) {
	tests := map[string]struct {
		from, want string
	}{
		"the chapter's own address":     {"/a.html", "spec.bookToml: book.toml: output.html.redirect redirects /a.html, which is the chapter a.md: drop the redirect or the chapter"},
		"a README's address":            {"/guide/index.html", "spec.bookToml: book.toml: output.html.redirect redirects /guide/index.html, which is the chapter guide/README.md: drop the redirect or the chapter"},
		"an address that isn't a page":  {"/old.html", ""},
		"a page that mdBook won't name": {"/guide/README.html", ""},
		"a page in a folder that isn't": {"/old/x.html", ""},
		"a heading of a page":           {"/a.html#old", ""},
		"a folder":                      {"/old/", `spec.bookToml: book.toml: output.html.redirect redirects "/old/", which is a folder: name the page, /old/index.html say`},
		"nothing":                       {"/", `spec.bookToml: book.toml: output.html.redirect redirects "/", which is a folder: name the page, /old/index.html say`},
		"a page below a page":           {"/a.html/x.html", `spec.bookToml: book.toml: output.html.redirect redirects "/a.html/x.html", which would be below the page of the chapter a.md: drop it`},
		"a way out of the site":         {"/x/../../y.html", `spec.bookToml: book.toml: output.html.redirect redirects "/x/../../y.html", which holds "..": write the address that it leads to, within the site`},
		"a NUL character":               {`/a\u0000b.html`, `spec.bookToml: book.toml: output.html.redirect redirects "/a\x00b.html", which holds a NUL character: drop it`},
		"a long name": {"/" + strings.Repeat("a", 256), `spec.bookToml: book.toml: output.html.redirect redirects "/` + strings.Repeat("a", 256) +
			`", of which a part has 256 bytes, may have 255: shorten it`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Name: "docs"}, Spec: v1.MarkdownViewSpec{
				Markdowns: map[string]string{"SUMMARY.md": "- [A](a.md)\n- [G](guide/README.md)\n", "a.md": "", "guide/README.md": ""},
				BookToml:  "[output.html.redirect]\n\"" + test.from + "\" = \"b.html\"\n",
			}}
			got := ""
			if _, err := Generate(view, nil); err != nil {
				got = strings.TrimPrefix(err.Error(), "MarkdownView docs: ")
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
