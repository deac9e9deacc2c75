package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/viewer"
)

func TestAChangedPageLosesNoRequest(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int32{1, 3} {
		t.Run(fmt.Sprintf("with %d replicas", replicas), func(t *testing.T) {
			f := newFixture(t)
			f.serve("The old page", func(view *v1.MarkdownView) { view.Spec.Replicas = &replicas })
			site := f.site()
			site.Shows("/", "The old page")

			reader := site.Reader("/")
			f.eventually("two seconds of reading", func() string { return atLeast(reader, 20) })
			f.change(page("The new page"))
			f.ready()
			ready := time.Now()
			seen := reader.Count()
			// Longer than the old pods have left.
			f.eventually("ten more seconds of reading", func() string { return atLeast(reader, seen+100) })
			checkRollout(t, reader.End(), ready)
		})
	}
}

// checkRollout holds answers to the promise: none failed, first old, then new,
// and nothing old once the view was Ready.
func checkRollout(t *testing.T, answers []viewer.Answer, ready time.Time) {
	t.Helper()
	for _, a := range viewer.Failures(answers) {
		t.Errorf("at %s: %s", a.At.Format(time.StampMilli), a.Failed)
	}
	var before, after, late int
	for _, a := range answers {
		switch {
		case strings.Contains(a.Body, "The new page"):
			after++
		case strings.Contains(a.Body, "The old page"):
			before++
			if a.At.After(ready) {
				late++
			}
		case a.Failed == "":
			t.Errorf("at %s: neither page:\n%s", a.At.Format(time.StampMilli), a.Body)
		}
	}
	t.Logf("%d answers, %d failed, %d old, %d new, %d old ones after Ready=True", len(answers), len(viewer.Failures(answers)), before, after, late)
	if before == 0 || after == 0 {
		t.Error("there should be old pages, then new ones")
	}
	if late > 0 {
		t.Error("an old page was served when the view was Ready")
	}
	if !strings.Contains(answers[len(answers)-1].Body, "The new page") {
		t.Error("the last answer isn't the new page")
	}
}

func atLeast(r *viewer.Reader, count int) string {
	if got := r.Count(); got < count {
		return fmt.Sprintf("%d of %d answers", got, count)
	}
	return ""
}

// TestPodsStopWithinSeconds tries it again where it takes longer: the node may be busy with
// other pods.
// TestAnotherServerLosesNoRequest has a view served by a static server, and by mdBook again.
func TestAnotherServerLosesNoRequest(t *testing.T) {
	f := newFixture(t)
	f.needsGateway() // of which it is the image
	f.serve("The page")
	site := f.site()
	site.Shows("/", "The page")
	reader := site.Reader("/")
	f.eventually("two seconds of reading", func() string { return atLeast(reader, 20) })
	f.change(static)
	f.ready()
	site.Shows(generator.RevisionPath, f.pod().Annotations[v1.RevisionAnnotation])
	f.change(func(view *v1.MarkdownView) { view.Spec.StaticServer = nil })
	f.ready()
	seen := reader.Count()
	// Longer than the old pods have left.
	f.eventually("ten more seconds of reading", func() string { return atLeast(reader, seen+100) })
	answers := reader.End()
	for _, a := range answers {
		if a.Failed != "" || !strings.Contains(a.Body, "The page") {
			t.Errorf("at %s: %s%.300s", a.At.Format(time.StampMilli), a.Failed, a.Body)
		}
	}
	t.Logf("%d answers, %d failed", len(answers), len(viewer.Failures(answers)))
}

func TestPodsStopWithinSeconds(t *testing.T) {
	const tries, most = 3, 15 * time.Second
	f := newFixture(t)
	f.serve("Short-lived")
	for try := range tries {
		began := time.Now()
		f.delete(f.pod())
		took := time.Since(began)
		t.Logf("the pod was gone after %.1fs", took.Seconds())
		f.Settled("docs")
		if took <= most {
			return
		}
		if try == tries-1 {
			t.Errorf("the pod took %s to stop, may take %s", took, most)
		}
	}
}
