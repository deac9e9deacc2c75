package e2e

import "github.com/zoetrope/markdown-view/test/viewer"

// site is what a view's Service serves.
func (f *fixture) site(view string) *viewer.Site {
	f.Helper()
	return viewer.NewSite(f, shared, f.namespace, view)
}
