package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/browser"
)

// tutorial is the kubebuilder tutorial's sample view, with a second page.
func tutorial(view *v1.MarkdownView) {
	view.Spec.Markdowns = map[string]string{
		"SUMMARY.md": "# Summary\n\n- [Page1](page1.md)\n- [Page2](page2.md)\n",
		"page1.md":   "# Page 1\n\n一ページ目のコンテンツです。\n",
		"page2.md":   "# Page 2\n\nHere the word heliotrope is to be found.\n",
	}
}

func TestAReaderOpensTheTutorialsBook(t *testing.T) {
	f := newFixture(t)
	f.serve("", tutorial)
	site := f.site()
	for _, want := range []string{"Page 1</a></h1>", "一ページ目のコンテンツです。"} {
		site.Shows("/", want)
	}
	reader := browser.Start(f.T)

	reader.OpenAndSee(site.Local(), "#mdbook-sidebar .chapter-item a")
	chapters := browser.Do(reader, "read the sidebar", chromedp.Evaluate[[]string](
		`[...document.querySelectorAll("#mdbook-sidebar .chapter-item a")].map(a => a.textContent.trim()).filter(t => t)`))
	if diff := cmp.Diff([]string{"1. Page1", "2. Page2"}, chapters); diff != "" {
		t.Errorf("the sidebar's chapters (-want +got):\n%s", diff)
	}
	reader.Screenshot("first-page.png")

	browser.Do(reader, "turn the page", chromedp.Click(`#mdbook-sidebar a[href$="page2.html"]`))
	browser.Do(reader, "see the second page", chromedp.WaitVisible(`h1#page-2`))

	f.openSearch(reader)
	browser.Do(reader, "type a word", chromedp.SendKeys(`#mdbook-searchbar`, "heliotrope"))
	browser.Do(reader, "see a result", chromedp.WaitVisible(`#mdbook-searchresults a`))
	found := browser.Do(reader, "read the results", chromedp.Text(`#mdbook-searchresults`))
	if !strings.Contains(found, "Page 2") {
		t.Errorf("the search found %q", found)
	}
	reader.Screenshot("search.png")
}

// openSearch clicks again after a while, as people do: until the page's scripts
// have run nothing listens.
func (f *fixture) openSearch(reader *browser.Browser) {
	f.Helper()
	var clicked time.Time
	f.eventually("the search to open", func() string {
		if browser.Do(reader, "look for the search", chromedp.Evaluate[bool](`document.querySelector("#mdbook-searchbar").offsetParent !== null`)) {
			return ""
		}
		if time.Since(clicked) > 5*time.Second {
			browser.Do(reader, "open the search", chromedp.Click(`#mdbook-search-toggle`))
			clicked = time.Now()
		}
		return "it isn't open"
	})
}

// TestAReaderOpensTheHandbook takes the screenshot of docs/images.
func TestAReaderOpensTheHandbook(t *testing.T) {
	f := newFixture(t)
	f.applyBook(handbook)
	site := f.site()
	site.Page("/on-call/escalation.html")
	reader := browser.Start(f.T)
	reader.OpenAndSee(site.Local()+"/on-call/escalation.html", "#mdbook-sidebar .chapter-item a")
	loaded := browser.Do(reader, "look at the image", chromedp.Evaluate[bool](`(() => { const i = document.querySelector("main img"); return i.complete && i.naturalWidth > 0; })()`))
	if !loaded {
		t.Error("the page's image isn't shown")
	}
	reader.Screenshot("handbook.png")
}
