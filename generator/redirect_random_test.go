package generator

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// Random redirects are problems here exactly if mdBook fails.
func TestRandomRedirectsAgainstMDBook(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	view := newView("a", nil)
	view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
	fatal := 0
	for range 60 {
		b := fatalBook{toml: randomRedirects(r), pages: map[string]string{"img/x.png": "", "d/only.md": "", "pic.png": "", "css/x.css": ""}}
		faults := faultsOf(t, view, Content{Field: "spec.contentFrom[0].directory", Book: b.book()})
		fails := len(faults) > 0 && !strings.HasPrefix(faults[0], "?")
		if fails {
			fatal++
		}
		if output, ok := runMDBook(t, b.book()); ok == fails {
			t.Errorf("mdBook succeeds: %v, here: %v\n%s\n%s", ok, faults, b.toml, output)
		}
	}
	if fatal < 10 || fatal > 50 {
		t.Errorf("%d of 60 are fatal", fatal)
	}
}

func randomRedirects(r *rand.Rand) string {
	pick := func(options ...string) string { return options[r.IntN(len(options))] }
	toml, seen := "[output.html.redirect]\n", map[string]bool{}
	for range 1 + r.IntN(2) {
		from := pick("/", "", "/", "//")
		for i := range 1 + r.IntN(3) {
			if i > 0 {
				from += pick("/", "/", "//")
			}
			from += pick("a.html", "guide", "index.html", "b.html", "old", "old.html", "img", "x.png", "pic.png", "css", "print.html", ".", "d", "fonts", "")
		}
		from += pick("", "", "", "#x", "/", "#a#b")
		if !seen[from] {
			seen[from] = true
			toml += fmt.Sprintf("%q = %q\n", from, pick("a.html", "a.html", "a.html", "a.html", ""))
		}
	}
	return toml
}
