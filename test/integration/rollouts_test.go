package integration

import (
	"fmt"
	"testing"
	"time"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
)

// TestNextRolloutBeginsWhenTheLastIsReady changes several views at once and looks in
// the request log at when each one's pods began to be replaced, and when it was Ready
// again.
func TestNextRolloutBeginsWhenTheLastIsReady(t *testing.T) {
	f := newCluster(t)
	f.controller("controller", "--concurrent-rollouts=1")
	const views = 6
	name := func(i int) string { return fmt.Sprintf("docs-%d", i) }
	for i := range views {
		f.create(f.view(name(i)))
	}
	for i := range views {
		f.ready(name(i))
	}
	since := f.mark()
	for i := range views {
		update(f, &v1.MarkdownView{}, name(i), func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Changed\n" })
	}
	for i := range views {
		f.ready(name(i))
	}
	var rolling string
	ready := f.lastStatus(since)
	for _, r := range f.requests(since) {
		switch {
		case r.Resource == "deployments.apps" && cluster.Writes(r):
			if rolling != "" {
				t.Errorf("%s began before %s was Ready", r.Name, rolling)
			}
			rolling = r.Name
		case "viewer-"+r.Name == rolling && ready[r.Name].Equal(r.Received):
			rolling = ""
		}
	}
}

// lastStatus returns when the status of each view was written last.
func (f *fixture) lastStatus(since cluster.Mark) map[string]time.Time {
	f.Helper()
	last := map[string]time.Time{}
	for _, r := range f.requests(since) {
		if r.Subresource == "status" && cluster.Writes(r) {
			last[r.Name] = r.Received
		}
	}
	return last
}
