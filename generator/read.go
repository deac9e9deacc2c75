package generator

import (
	"cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/summary"
)

// readConfig reads book.toml. Where that can't be read mdBook's defaults are returned, so
// that the rest of the book can be checked all the same.
func readConfig(view *v1.MarkdownView, b merged) (book.Config, diagnostic.List) {
	config, err := book.ParseConfig(b.Toml)
	if err != nil {
		config, _ = book.ParseConfig(nil)
	}
	if view.Spec.StaticServer != nil {
		config = config.Built()
	}
	return config, inField(err, b.origin.toml)
}

// readSummary reads SUMMARY.md and compares it with the book's pages. The chapters are nil
// if anything is wrong with them.
func readSummary(view *v1.MarkdownView, b merged) (*summary.Summary, diagnostic.List) {
	if len(view.Spec.Markdowns) == 0 && len(view.Spec.ContentFrom) == 0 {
		return nil, nil // the view itself is at fault, and says so
	}
	chapters, err := summary.Load(b.Pages, "")
	if err != nil {
		chapters = nil
	}
	return chapters, inField(err, cmp.Or(b.origin.pages[book.SummaryPath], specField))
}

// inField are a parser's faults in a file that came from a field of the view.
func inField(err error, field string) diagnostic.List {
	faults := diagnostic.FromError(err)
	return faults.Below(field)
}
