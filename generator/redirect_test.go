package generator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// The problems of redirects are those with which mdBook fails, and no others.
func TestRedirects(t *testing.T) {
	const start = "book.toml: output.html.redirect redirects "
	const there = ", but that is in the site, so mdBook passes over the redirect: drop it"
	long := "/" + strings.Repeat("a", 256)
	tests := map[string]struct {
		from []string // to a.html, or to nowhere if it ends with "="
		want []string
		// differs says that mdBook succeeds where it isn't on a read-only root.
		differs bool
	}{
		"the chapter's own address":                  {from: []string{"/a.html"}, want: []string{start + "/a.html, which is the chapter a.md: drop the redirect or the chapter"}},
		"a README's address":                         {from: []string{"/guide/index.html"}, want: []string{start + "/guide/index.html, which is the chapter guide/README.md: drop the redirect or the chapter"}},
		"the chapter's own address without slash":    {from: []string{"a.html"}, want: []string{"?" + start + `"a.html"` + there}},
		"an address that isn't a page":               {from: []string{"/old.html"}},
		"a page that mdBook won't name":              {from: []string{"/guide/README.html"}},
		"a page in a folder that isn't":              {from: []string{"/old/x.html", "old/y/z.html"}},
		"a file without an ending":                   {from: []string{"/old"}},
		"a heading of a page":                        {from: []string{"/a.html#old"}},
		"a heading of a page that is redirected":     {from: []string{"/old.html#x", "/old.html"}},
		"a heading of a page that isn't":             {from: []string{"/old.html#x"}, want: []string{start + `"/old.html#x", a heading of a page that isn't in the site: add a redirect of the page itself, without #, for all else`}},
		"to nowhere":                                 {from: []string{"/old.html="}, want: []string{start + `"/old.html", to nowhere: write where to`}},
		"a folder":                                   {from: []string{"/old/"}, want: []string{start + `"/old/", which is a folder: name the page, /old/index.html say`}},
		"a folder by a dot":                          {from: []string{"/old/."}, want: []string{start + `"/old/.", which is a folder: name the page, /old/index.html say`}},
		"a page as a folder":                         {from: []string{"/a.html/"}, want: []string{start + `"/a.html/", which is a folder: name the page, /old/index.html say`}},
		"a folder of the site":                       {from: []string{"/guide/"}, want: []string{"?" + start + `"/guide/"` + there}},
		"a folder that another redirect makes":       {from: []string{"/old/x.html", "old/"}, want: []string{"?" + start + `"old/"` + there}},
		"a folder of the book's files":               {from: []string{"/img"}, want: []string{start + `"/img", which is a folder of the book's files: name a page in it`}},
		"a file of the book":                         {from: []string{"/img/x.png"}},
		"a page below a file of the book":            {from: []string{"/img/x.png/y.html"}, want: []string{start + `"/img/x.png/y.html", which would be below the file img/x.png: drop it`}},
		"a page below a redirect":                    {from: []string{"/o.html", "/o.html/x.html"}, want: []string{start + `"/o.html/x.html", which would be below the file o.html: drop it`}},
		"nothing":                                    {from: []string{"/"}, want: []string{"?" + start + `"/"` + there}},
		"nothing at all":                             {from: []string{""}, want: []string{"?" + start + `""` + there}},
		"a heading of nothing":                       {from: []string{"#x"}},
		"mdBook's own page":                          {from: []string{"/print.html"}, want: []string{"?" + start + `"/print.html"` + there}},
		"a page below a page":                        {from: []string{"/a.html/x.html"}, want: []string{start + `"/a.html/x.html", which would be below the page of the chapter a.md: drop it`}},
		"a way through the site":                     {from: []string{"/x/../y.html"}, want: []string{"?" + start + `"/x/../y.html", which holds "..": write the address that it leads to`}},
		"a way through the site that isn't a folder": {from: []string{"/x.png/../a.html/y"}, want: []string{start + `"/x.png/../a.html/y", which would be below the page of the chapter a.md: drop it`}},
		"a folder of mdBook's own":                   {from: []string{"/fonts/", "css"}, want: []string{"?" + start + `"/fonts/"` + there, "?" + start + `"css"` + there}},
		"a folder with pages only":                   {from: []string{"/pages"}},
		"a folder with folders of pages":             {from: []string{"/deep"}, want: []string{start + `"/deep", which is a folder of the book's files: name a page in it`}},
		"a way out of the site":                      {from: []string{"/x/../../y.html"}, differs: true, want: []string{start + `"/x/../../y.html", which leads out by "..": write an address within the site`}},
		"a NUL character":                            {from: []string{`/a\u0000b.html`}, want: []string{start + `"/a\x00b.html", which holds a NUL character: drop it`}},
		"a long name":                                {from: []string{long}, want: []string{start + `"` + long[:120] + `", of which a part has more than 255 bytes: shorten it`}},
		"a long path":                                {from: []string{strings.Repeat("/aaaaaaaa", 500)}, want: []string{start + `"` + strings.Repeat("/aaaaaaaa", 14)[:120] + `", which is too long for a file's path: shorten it`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := fatalBook{toml: "[output.html.redirect]\n", pages: map[string]string{"img/x.png": "", "pages/x.md": "", "deep/er/x.md": ""}}
			for _, from := range test.from {
				to := "a.html"
				if rest, ok := strings.CutSuffix(from, "="); ok {
					from, to = rest, ""
				}
				b.toml += `"` + from + `" = "` + to + "\"\n"
			}
			view := newView("a", nil)
			view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
			content := Content{Field: folder[:len(folder)-len(": ")], Book: b.book()}
			if diff := cmp.Diff(test.want, faultsOf(t, view, content)); diff != "" {
				t.Error(diff)
			}
			output, ok := runMDBook(t, b.book())
			if want := len(test.want) == 0 || strings.HasPrefix(test.want[0], "?"); ok != want && !test.differs {
				t.Errorf("mdBook succeeds: %v\n%s", ok, output)
			}
		})
	}
}

// Links may lead to pages that redirect.
func TestLinksToRedirects(t *testing.T) {
	view := newView("a", withPages(map[string]string{"a.md": "[1](old.html) [2](d/old.html#x) [3](gone.html) [4](x.html)\n"}))
	view.Spec.BookToml = "[output.html.redirect]\n'/old.html' = 'a.html'\n'd/old.html' = 'https://example.com'\n'/a.html#x' = '/x.html'\n"
	want := []string{
		"spec.markdowns: a.md:1: the link to gone.html leads nowhere: the book has no such file",
		"spec.markdowns: a.md:1: the link to x.html leads nowhere: the book has no such file",
	}
	if diff := cmp.Diff(want, mapped(mustGenerate(t, view).Warnings, Problem.String)); diff != "" {
		t.Error(diff)
	}
}
