// Package browser opens pages in Chromium, for tests of what a reader sees.
package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/cluster/programs"
)

// patience is how long a reader would wait.
const patience = time.Minute

// Program is the one that is started.
var Program = programs.Program{Names: []string{"chromium", "chromium-browser", "google-chrome"}, Package: "chromium"}

// Browser is a Chromium without a screen, for one test. What fails ends the test.
type Browser struct {
	t   *testing.T
	ctx context.Context
}

// Start starts one, with a profile and with options of its own. Without a Chromium the test is
// skipped.
func Start(t *testing.T, more ...chromedp.ExecAllocatorOption) *Browser {
	t.Helper()
	if !Program.Present() {
		t.Skip("the machine has no Chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // it may be root here, and reads the test's own pages only
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.WSURLReadTimeout(patience),
		chromedp.WindowSize(1200, 700),
	)
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), append(options, more...)...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	// The browser lives as long as the context that it is first used with.
	if _, err := chromedp.Run(ctx, chromedp.Location()); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return &Browser{t: t, ctx: ctx}
}

// In is the same browser for a subtest.
func (b *Browser) In(t *testing.T) *Browser {
	return &Browser{t: t, ctx: b.ctx}
}

// Open opens an address.
func (b *Browser) Open(address string) {
	b.t.Helper()
	Do(b, "open "+address, chromedp.Navigate(address))
}

// OpenAndSee opens an address and waits until an element is seen. If it isn't, the page is opened
// again, as a reader would, and what came of it is logged: once on a busy machine a page stayed
// without its sidebar, and nobody knows why.
func (b *Browser) OpenAndSee(address, selector string) {
	b.t.Helper()
	clustertest.Eventually(b.t, 2*patience, clustertest.Often, address+" to show "+selector, func() string {
		ctx, cancel := context.WithTimeout(b.ctx, patience/3)
		defer cancel()
		if _, err := chromedp.Run(ctx, chromedp.Navigate(address)); err != nil {
			return err.Error()
		}
		if _, err := chromedp.Run(ctx, chromedp.WaitVisible(selector)); err != nil {
			b.t.Logf("%s is opened again, for it doesn't show %s: %s", address, selector, Do(b, "ask what came", chromedp.Evaluate[string](came)))
			return err.Error()
		}
		return ""
	})
}

// came tells how far a page is, and what was answered for all that belongs to it.
const came = `document.readyState + " " + JSON.stringify(performance.getEntriesByType("resource").map(r => [r.name, r.responseStatus, r.decodedBodySize]))`

// shown is what a reader sees of a page: its heading, and the font that mdBook's styles
// give it.
type shown struct {
	Heading string `json:"heading"`
	Font    string `json:"font"`
}

const look = `(() => {
	const heading = document.querySelector("main h1");
	return {
		heading: heading !== null && heading.checkVisibility() ? heading.textContent.trim() : "",
		font: getComputedStyle(document.body).fontFamily,
	};
})()`

// Shows waits until the page shows a heading, in mdBook's font. The page may reload
// meanwhile, but it isn't opened anew.
func (b *Browser) Shows(heading string) {
	b.t.Helper()
	clustertest.Eventually(b.t, patience, clustertest.Often, "the page to be shown", func() string {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		got, err := chromedp.Run(ctx, chromedp.Evaluate[shown](look))
		switch {
		case err != nil: // a page that is being loaded
			return err.Error()
		case got.Heading != heading || !strings.Contains(got.Font, "Open Sans"):
			return fmt.Sprintf("it has the heading %q in the font %s", got.Heading, got.Font)
		}
		return ""
	})
}

// Screenshot keeps a picture of what is shown, in the folder artifacts.
func (b *Browser) Screenshot(name string) {
	b.t.Helper()
	clustertest.Keep(b.t, name, Do(b, "take "+name, chromedp.CaptureScreenshot()))
}

// Do has the browser do something, and returns what comes of it; what is told of it if that
// fails.
func Do[T any](b *Browser, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	return result
}
