package integration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zoetrope/markdown-view/test/cluster"
)

// The soak has tenants with so many views each; the last tenant is hostile.
const soakTenants, soakViewsOfTenant = 5, 11

// An epoch is so many actions, after which all faults are lifted and everything is held
// against the model. The controller is restarted in one epoch of so many only, so that a
// process lives through the others, and what it keeps can be compared.
const soakActionsOfEpoch, soakEpochsOfProcess = 120, 4

// soakPatience is how long after an epoch all has to be well. Who has changed an object
// again and again waits longer than others.
const soakPatience = 4 * time.Minute

// soak is a cluster to which random things happen, and what is known of it.
type soak struct {
	*fixture
	random     *rand.Rand
	served     *sources
	tenants    []*soakTenant
	views      []*soakView
	strangers  []stranger
	controller *cluster.Component
	metrics    string // where the controller serves its profiles
	webhooks   soakWebhooks

	actions  int
	counts   map[string]int // of what has happened
	texts    int            // each page that is written differs from all before
	began    cluster.Mark
	measured []soakMeasure
	// happened are the actions that concern no single view.
	happened []string
}

// soakTenant is a namespace, and what is wrong in it.
type soakTenant struct {
	*fixture
	hooks map[string]bool // by mode
	// goOn ends what is wrong with the server of its artifacts; nil: nothing is.
	goOn func()
}

// TestSoak does random things to a cluster for as long as SOAK says ("30m"), and holds it
// against a model. SOAK_SEED repeats the actions of an earlier run.
func TestSoak(t *testing.T) {
	duration, seed := soakSettings(t)
	f, served := newSourcesCluster(t)
	served.setUp()
	t.Logf("seed %d: SOAK=%s SOAK_SEED=%d repeats it", seed, duration, seed)
	s := &soak{fixture: f, served: served, random: rand.New(rand.NewPCG(seed, seed)), counts: map[string]int{}}
	s.start()
	// What is checked at the end takes its time, too.
	end := time.Now().Add(duration)
	for epoch := 0; epoch == 0 || time.Now().Before(end); epoch++ {
		began := time.Now()
		for range soakActionsOfEpoch {
			s.act(epoch%soakEpochsOfProcess == 0)
		}
		acted := time.Since(began)
		s.lift(false)
		s.holds()
		s.measure()
		t.Logf("epoch %d: %d actions in %.1fs, then %.1fs until all was well; %s", epoch, soakActionsOfEpoch,
			acted.Seconds(), (time.Since(began) - acted).Seconds(), s.measured[len(s.measured)-1])
	}
	s.lift(true)
	s.holds()
	t.Logf("%d actions; seed %d", s.actions, seed)
	for _, name := range slices.Sorted(maps.Keys(s.counts)) {
		t.Logf("%5d times: %s", s.counts[name], name)
	}
	s.rests(min(time.Minute, max(35*time.Second, duration/20))) // what is in the way is looked at every 30 seconds
	s.isRepaired()
	s.measure()
	s.staysFlat()
}

// soakSettings skips the test unless it is asked for.
func soakSettings(t *testing.T) (duration time.Duration, seed uint64) {
	t.Helper()
	asked := os.Getenv("SOAK")
	if asked == "" {
		t.Skip("SOAK=30m runs it, or make soak")
	}
	duration, err := time.ParseDuration(asked)
	if err != nil {
		t.Fatal(err)
	}
	seed = rand.Uint64()
	if text := os.Getenv("SOAK_SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return duration, seed
}

// start makes the tenants, their views and strangers, and runs the controller.
func (s *soak) start() {
	s.Helper()
	s.metrics = freeAddress(s.T)
	s.began = s.mark()
	s.webhooks.start(s.fixture)
	for number := range soakTenants {
		tenant := &soakTenant{fixture: fixtureIn(s.T, s.Product), hooks: map[string]bool{}}
		s.tenants = append(s.tenants, tenant)
		for i := range soakViewsOfTenant {
			view := &soakView{
				tenant: tenant, number: number, name: fmt.Sprintf("docs-%d", i), from: soakSource(i % 4),
				replicas: int32(1 + i%2), pages: map[string]string{},
			}
			if i == soakViewsOfTenant-1 {
				view.taken = s.stranger(tenant, number%3, view.name)
			}
			for page := range 2 + i%2 {
				view.pages[fmt.Sprintf("page-%d.md", page)] = s.text(view)
			}
			if view.from == fromSource {
				view.pages = map[string]string{"start.md": s.text(view)}
			}
			s.views = append(s.views, view)
		}
		s.strangersWithOurLabels(tenant)
	}
	s.controller = s.fixture.controller("controller", "--pprof-addr="+s.metrics, "--concurrent=4")
	for _, view := range s.views {
		view.create(s)
		s.writePages(view)
	}
	s.holds()
	s.measure()
}

// text is that of a page, unlike all before.
func (s *soak) text(v *soakView) string {
	s.texts++
	return fmt.Sprintf("# Page %d of %s\n%s", s.texts, v.name, strings.Repeat("\nA line.  \n", s.random.IntN(20)))
}

// happens counts what happens.
func (s *soak) happens(what string) { s.counts[what]++ }

// act does the next action.
func (s *soak) act(withRestarts bool) {
	s.Helper()
	pause := time.Duration(s.random.IntN(150)) * time.Millisecond
	view := s.views[s.random.IntN(len(s.views))]
	total := 0
	for _, action := range soakActions {
		total += action.weight
	}
	chosen := s.random.IntN(total)
	for _, action := range soakActions {
		if chosen -= action.weight; chosen >= 0 {
			continue
		}
		s.actions++
		line := fmt.Sprintf("%d %s", s.actions, action.name)
		switch {
		case action.restarts && !withRestarts:
			return
		case action.do == nil:
			s.happened = append(s.happened, line)
			s.happens(action.name)
			action.cluster(s)
		default:
			detail := action.do(s, view)
			if !strings.HasPrefix(detail, "not: ") && !strings.HasPrefix(detail, "which ") {
				s.happens(action.name)
			}
			view.actions = append(view.actions, strings.TrimSpace(line+" "+detail))
		}
		break // out of the loop
	}
	select { // the world's pace, not something to wait for
	case <-time.After(pause):
	case <-s.Context().Done():
	}
}

// lift ends all faults. In the end no view is suspended either.
func (s *soak) lift(resume bool) {
	s.Helper()
	for _, tenant := range s.tenants {
		for mode := range tenant.hooks {
			s.webhooks.remove(tenant, mode)
		}
		if tenant.goOn != nil {
			tenant.goOn()
			tenant.goOn = nil
		}
	}
	for _, view := range s.views {
		if resume && view.suspended && view.exists {
			view.suspended = false
			s.write(view)
		}
	}
}
