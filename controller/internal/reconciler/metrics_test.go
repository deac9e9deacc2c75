package reconciler

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/internal/fakecluster"
)

// series lists the gauges and counters that aren't 0, as name{labels} value.
func series(t *testing.T, m *Metrics) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			value := metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			if value == 0 {
				continue
			}
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			lines = append(lines, fmt.Sprintf("%s{%s} %g", family.GetName(), strings.Join(labels, ","), value))
		}
	}
	return lines
}

func TestMetricsGoWithTheirView(t *testing.T) {
	f := newFixture(t)
	f.Metrics = NewMetrics(f.Cached, true)
	f.Metrics.pageBytes = f.states.pageBytes
	f.served("docs")
	fakecluster.Edit(f.Cluster, "anyone", &corev1.ConfigMap{}, "docs", "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["x"] = "" })
	f.reconcile("docs")
	drift := "markdownview_drift_corrected_total{kind=ConfigMap} 1"
	want := []string{
		"gotk_reconcile_condition{kind=MarkdownView,name=docs,namespace=docs,status=True,type=Ready} 1",
		"gotk_reconcile_duration_seconds{kind=MarkdownView,name=docs,namespace=docs} 3",
		drift,
		"markdownview_info{name=docs,namespace=docs,ready=True,reason=Healthy,suspended=false} 1",
		"markdownview_pages_bytes{name=docs,namespace=docs} 99",
	}
	if diff := cmp.Diff(want, series(t, f.Metrics)); diff != "" {
		t.Error(diff)
	}
	f.Must(f.Admin.Delete(t.Context(), &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "docs"}}))
	if _, err := f.tryReconcile("docs"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{drift}, series(t, f.Metrics)); diff != "" {
		t.Error(diff)
	}
}

// TestFewSeriesOfAView: whoever may make views could fill a monitoring system with them.
func TestFewSeriesOfAView(t *testing.T) {
	f := newFixture(t)
	f.Metrics.pageBytes = f.states.pageBytes
	f.served("docs")
	want := []string{
		"gotk_reconcile_duration_seconds{kind=MarkdownView} 2",
		"markdownview_info{name=docs,namespace=docs,ready=True,reason=Healthy,suspended=false} 1",
		"markdownview_pages_bytes{name=docs,namespace=docs} 99",
	}
	if diff := cmp.Diff(want, series(t, f.Metrics)); diff != "" {
		t.Error(diff)
	}
}

// unfilled is a cache that can't be filled: it waits, as controller-runtime's does.
type unfilled struct{ client.Reader }

func (unfilled) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	<-ctx.Done()
	return apierrors.NewTimeoutError("failed waiting for an Informer to sync", 0)
}

// TestScrapesDoNotWaitForTheCache has the metrics of a controller that isn't ready scraped.
func TestScrapesDoNotWaitForTheCache(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewMetrics(unfilled{}, true))
	families, err := registry.Gather()
	if err != nil || len(families) == 0 {
		t.Errorf("%d families of metrics: %v", len(families), err)
	}
}
