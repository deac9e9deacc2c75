package preview

import (
	"path/filepath"
	"testing"

	"github.com/zoetrope/markdown-view/test/browser"
)

// TestASavedPageReloads saves a page while a reader looks at it.
func TestASavedPageReloads(t *testing.T) {
	o := programs(t)
	reader := browser.Start(t)
	project := t.TempDir()
	o.Path = filepath.Join(project, "view.yaml")
	written{
		"view.yaml":       folderView,
		"docs/SUMMARY.md": "- [Start](start.md)\n",
		"docs/start.md":   "# First edition\n\nA page.\n",
	}.in(t, project)
	p := start(t, o)
	reader.Open(p.url)
	reader.Shows("First edition")
	reader.Screenshot("preview.png")
	written{"docs/start.md": "# Second edition\n\nA page.\n"}.in(t, project)
	reader.Shows("Second edition")
}
