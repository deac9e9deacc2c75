package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
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
	ctx := f.browser()

	do(ctx, f, "open the book", chromedp.Navigate(site.Local()))
	do(ctx, f, "see the sidebar", chromedp.WaitVisible("#mdbook-sidebar .chapter-item a"))
	chapters := do(ctx, f, "read the sidebar", chromedp.Evaluate[[]string](
		`[...document.querySelectorAll("#mdbook-sidebar .chapter-item a")].map(a => a.textContent.trim()).filter(t => t)`))
	if diff := cmp.Diff([]string{"1. Page1", "2. Page2"}, chapters); diff != "" {
		t.Errorf("the sidebar's chapters (-want +got):\n%s", diff)
	}
	f.screenshot(ctx, "first-page.png")

	do(ctx, f, "turn the page", chromedp.Click(`#mdbook-sidebar a[href$="page2.html"]`))
	do(ctx, f, "see the second page", chromedp.WaitVisible(`h1#page-2`))

	f.openSearch(ctx)
	do(ctx, f, "type a word", chromedp.SendKeys(`#mdbook-searchbar`, "heliotrope"))
	do(ctx, f, "see a result", chromedp.WaitVisible(`#mdbook-searchresults a`))
	found := do(ctx, f, "read the results", chromedp.Text(`#mdbook-searchresults`))
	if !strings.Contains(found, "Page 2") {
		t.Errorf("the search found %q", found)
	}
	f.screenshot(ctx, "search.png")
}

// openSearch clicks again after a while, as people do: until the page's scripts
// have run nothing listens.
func (f *fixture) openSearch(ctx context.Context) {
	f.Helper()
	var clicked time.Time
	f.eventually("the search to open", func() string {
		if do(ctx, f, "look for the search", chromedp.Evaluate[bool](`document.querySelector("#mdbook-searchbar").offsetParent !== null`)) {
			return ""
		}
		if time.Since(clicked) > 5*time.Second {
			do(ctx, f, "open the search", chromedp.Click(`#mdbook-search-toggle`))
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
	ctx := f.browser()
	do(ctx, f, "open a page", chromedp.Navigate(site.Local()+"/on-call/escalation.html"))
	do(ctx, f, "see the sidebar", chromedp.WaitVisible("#mdbook-sidebar .chapter-item a"))
	loaded := do(ctx, f, "look at the image", chromedp.Evaluate[bool](`(() => { const i = document.querySelector("main img"); return i.complete && i.naturalWidth > 0; })()`))
	if !loaded {
		t.Error("the page's image isn't shown")
	}
	f.screenshot(ctx, "handbook.png")
}

// browser starts a headless Chromium with a profile of its own.
func (f *fixture) browser(more ...chromedp.ExecAllocatorOption) context.Context {
	f.Helper()
	if !browserProgram.Present() {
		f.Skip("the machine has no Chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // it is root here, and reads its own pages only
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.UserDataDir(f.TempDir()),
		chromedp.WSURLReadTimeout(patience),
		chromedp.WindowSize(1200, 700),
	)
	allocator, cancel := chromedp.NewExecAllocator(f.Context(), append(options, more...)...)
	f.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	f.Cleanup(cancel)
	// The browser lives as long as the context that it is first used with.
	if _, err := chromedp.Run(ctx, chromedp.Location()); err != nil {
		f.Fatalf("start the browser: %v", err)
	}
	return ctx
}

// do has the browser do something.
func do[T any](ctx context.Context, f *fixture, what string, action chromedp.Action[T]) T {
	f.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	result, err := chromedp.Run(ctx, action)
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
	return result
}

func (f *fixture) screenshot(ctx context.Context, name string) {
	f.Helper()
	keep(f.T, name, do(ctx, f, "take "+name, chromedp.CaptureScreenshot()))
}

// keep writes a file that outlives the test, into artifacts.
func keep(t *testing.T, name string, content []byte) {
	t.Helper()
	const folder = "../../artifacts"
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}
