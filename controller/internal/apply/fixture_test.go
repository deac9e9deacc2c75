package apply

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// fixture applies what a view wants to a cluster in memory.
type fixture struct {
	*testing.T
	*fakecluster.Cluster
	*Applier
	view  *v1.MarkdownView
	last  LastApplied
	wrote Expectations
	clock *testclock.FakePassiveClock
}

func newFixture(t *testing.T, objects ...client.Object) *fixture {
	t.Helper()
	f := &fixture{T: t, clock: testclock.NewFakePassiveClock(time.Now())}
	f.view = &v1.MarkdownView{
		ObjectMeta: metav1.ObjectMeta{Name: "docs", Namespace: "docs", UID: "ours"},
		Spec: v1.MarkdownViewSpec{Markdowns: map[string]string{
			"SUMMARY.md": "- [Start](start.md)\n", "start.md": "# Start\n",
		}},
	}
	f.view.Default()
	f.Cluster = fakecluster.New(t, "app.kubernetes.io/created-by", generator.FieldManager,
		[]fakecluster.Index{
			{Object: &corev1.ConfigMap{}, Name: ViewIndex, Values: ViewOf}, {Object: &corev1.Pod{}, Name: ViewIndex, Values: ViewOf},
		}, objects...)
	f.Transform(func(object client.Object) error {
		if _, isPod := object.(*corev1.Pod); !isPod {
			Pack(object)
		}
		return nil
	})
	f.Applier = &Applier{Client: f.Cached, Writer: f.Cached, APIReader: f.Admin, Metadata: f.Others, Clock: f.clock}
	return f
}

func (f *fixture) desired() []Desired {
	f.Helper()
	output, err := generator.Generate(f.view, nil)
	f.Must(err)
	desired, err := DesiredOf(f.view, output)
	f.Must(err)
	return desired
}

// apply plans and executes.
func (f *fixture) apply() (Report, error) {
	f.Helper()
	plan, err := f.Plan(f.Context(), f.view, f.desired(), &f.last, &f.wrote)
	if err != nil {
		return Report{}, err
	}
	return f.Execute(f.Context(), plan)
}

func (f *fixture) replacesPods(plan *Plan) bool {
	f.Helper()
	replaces, err := plan.ReplacesPods()
	f.Must(err)
	return replaces
}

// applied applies, which must succeed.
func (f *fixture) applied() Report {
	f.Helper()
	report, err := f.apply()
	f.Must(err)
	return report
}

// seen has the cache show all that was written.
func (f *fixture) seen() {
	f.wrote.byObject = nil
}

// passInterval lets a view's interval pass.
func (f *fixture) passInterval() {
	f.clock.SetTime(f.clock.Now().Add(f.view.Spec.Interval.Duration))
}

// edit has a field manager update one of the view's objects.
func edit[T client.Object](f *fixture, manager string, object T, name string, change func(T)) {
	f.Helper()
	fakecluster.Edit(f.Cluster, manager, object, "docs", name, change)
}

// corrections lists what a report says was corrected.
func (r Report) corrections() []string {
	var messages []string
	for _, correction := range r.Corrections {
		messages = append(messages, fmt.Sprintf("%s: %s", correction.Kind, correction.Message))
	}
	return messages
}
