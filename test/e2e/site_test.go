package e2e

import "github.com/zoetrope/markdown-view/test/viewer"

// site is what the Service of the view docs serves.
func (f *fixture) site() *viewer.Site {
	f.Helper()
	return viewer.NewSite(f, shared, f.namespace, "docs")
}
