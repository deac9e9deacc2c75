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
