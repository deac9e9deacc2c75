package monitoring

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/template"
)

// interval is how often rules are evaluated, and the tests' series have a value.
const interval = time.Minute

const (
	works = `controller_runtime_max_concurrent_reconciles{controller="markdown-view-controller", pod="a"} 4x120` + "\n"
	drift = `markdownview_drift_corrected_total{kind="Deployment", pod="a"} `
	errs  = `controller_runtime_reconcile_errors_total{controller="markdown-view-controller", pod="a"} `
	queue = `workqueue_queue_duration_seconds_bucket{name="markdown-view-controller", controller="markdown-view-controller", `
	book  = `markdownview_info{namespace="docs", name="guide", pod="a", `
)

var alerts = map[string]struct {
	series string
	at     time.Duration
	want   []string // of alerts that fire
}{
	"all is well": {
		series: works + book + `ready="True", reason="Healthy", suspended="false"} 1x120`,
		at:     2 * time.Hour,
	},
	"a view isn't Ready, for another reason in between, as two replicas say": {
		series: works +
			book + `ready="Unknown", reason="Progressing", suspended="false"} 1x10` + "\n" +
			book + `ready="False", reason="RolloutFailed", suspended="false"} _x10 1x30` + "\n" +
			`markdownview_info{namespace="docs", name="guide", pod="b", ready="False", reason="RolloutFailed", suspended="false"} _x10 1x30`,
		at:   16 * time.Minute,
		want: []string{"MarkdownViewNotReady"},
	},
	"a view isn't Ready, not for long": {
		series: works + book + `ready="Unknown", reason="Progressing", suspended="false"} 1x30`,
		at:     14 * time.Minute,
	},
	"a view that failed is suspended": {
		series: works + book + `ready="False", reason="Invalid", suspended="true"} 1x120`,
		at:     time.Hour,
	},
	"two writers fight": {
		series: works + drift + `0+1x120`,
		at:     time.Hour,
		want:   []string{"MarkdownViewDriftKeepsComingBack"},
	},
	"a person has edited something": {
		series: works + drift + `0x30 1x10 2x80`,
		at:     time.Hour,
	},
	"no controller works": {
		series: `up{job="other"} 1x120`,
		at:     11 * time.Minute,
		want:   []string{"MarkdownViewControllerAbsent"},
	},
	"another replica takes over": {
		series: `controller_runtime_max_concurrent_reconciles{controller="markdown-view-controller", pod="a"} 4x20` + "\n" +
			`controller_runtime_max_concurrent_reconciles{controller="markdown-view-controller", pod="b"} _x25 4x60`,
		at: 28 * time.Minute,
	},
	"every reconciliation fails": {
		series: works + errs + `0+60x120`,
		at:     30 * time.Minute,
		want:   []string{"MarkdownViewReconcileErrors"},
	},
	"a few views are retried": {
		series: works + errs + `0+5x120`,
		at:     time.Hour,
	},
	"a reconciliation panics": {
		series: works + `controller_runtime_reconcile_panics_total{controller="markdown-view-controller", pod="a"} 0x10 1x60`,
		at:     15 * time.Minute,
		want:   []string{"MarkdownViewReconcilePanics"},
	},
	"views wait for minutes": {
		series: works + queue + `le="10"} 0+1x120` + "\n" + queue + `le="100"} 0+10x120` + "\n" + queue + `le="+Inf"} 0+10x120`,
		at:     30 * time.Minute,
		want:   []string{"MarkdownViewQueueSlow"},
	},
	"views wait for less than a second": {
		series: works + queue + `le="1"} 0+10x120` + "\n" + queue + `le="10"} 0+10x120` + "\n" + queue + `le="+Inf"} 0+10x120`,
		at:     30 * time.Minute,
	},
	"a reconciliation doesn't end": {
		series: works + `workqueue_longest_running_processor_seconds{name="markdown-view-controller", pod="a"} 0+60x120`,
		at:     10 * time.Minute,
		want:   []string{"MarkdownViewReconcileStuck"},
	},
}

func TestAlertsFireAndResolve(t *testing.T) {
	for name, test := range alerts {
		t.Run(name, func(t *testing.T) {
			var firing []string
			for _, r := range rules(t) {
				for range fires(t, r, test.series, test.at) {
					firing = append(firing, r.Alert)
				}
			}
			if !slices.Equal(firing, test.want) {
				t.Errorf("firing: %v, want %v", firing, test.want)
			}
		})
	}
}

// TestEachAlertIsTested and says what a person needs.
func TestEachAlertIsTested(t *testing.T) {
	tested := map[string]bool{}
	for _, test := range alerts {
		for _, name := range test.want {
			tested[name] = true
		}
	}
	for _, r := range rules(t) {
		if !tested[r.Alert] {
			t.Errorf("no test has %s fire", r.Alert)
		}
		if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s lacks its severity, summary or description", r.Alert)
		}
		for _, text := range r.Annotations {
			expander := template.NewTemplateExpander(t.Context(), "{{$labels := .Labels}}{{$value := .Value}}"+text, r.Alert, nil, 0, nil, nil, nil)
			if err := expander.ParseTest(); err != nil {
				t.Errorf("%s: %v", r.Alert, err)
			}
		}
	}
}

// fires evaluates a rule at each interval of its `for`, and returns the label sets
// for which it held all the time.
func fires(t *testing.T, r rule, series string, at time.Duration) []labels.Labels {
	t.Helper()
	store := promqltest.LoadedStorage(t, "load 1m\n"+series)
	engine := promqltest.NewTestEngine(t, false, 0, 100000)
	pending := duration(t, r.For)
	start := time.Unix(0, 0).UTC()
	query, err := engine.NewRangeQuery(t.Context(), store, nil, r.Expr, start.Add(at-pending), start.Add(at), interval)
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	defer query.Close()
	result := query.Exec(t.Context())
	if result.Err != nil {
		t.Fatalf("%s: %v", r.Alert, result.Err)
	}
	matrix, ok := result.Value.(promql.Matrix)
	if !ok {
		t.Fatalf("%s is a %s", r.Alert, result.Value.Type())
	}
	var held []labels.Labels
	for _, s := range matrix {
		if len(s.Floats) == int(pending/interval)+1 {
			held = append(held, s.Metric)
		}
	}
	return held
}
