package reconciler

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// Metrics are the Prometheus metrics of MarkdownViews. What is in a view's status is
// read from the cache when it is asked for, so that no series outlives its view.
//
// A view has two series. It has about fifteen more, as objects of Flux's controllers have,
// if perView is set: whoever may make views could fill a monitoring system with them.
type Metrics struct {
	reader   client.Reader
	perView  bool
	duration *prometheus.HistogramVec
	drift    *prometheus.CounterVec
	left     *prometheus.CounterVec
	// pageBytes returns the size of a view's pages; 0 if it isn't known.
	pageBytes func(types.NamespacedName) int64
	// rolloutsWaiting returns how many views wait for a rollout slot.
	rolloutsWaiting func() int
}

var (
	infoDesc = prometheus.NewDesc("markdownview_info",
		"A MarkdownView and its state, always 1.",
		[]string{"namespace", "name", "ready", "reason", "suspended"}, nil)
	conditionDesc = prometheus.NewDesc("gotk_reconcile_condition",
		"The current condition status of a MarkdownView: 1 for the status it has.",
		[]string{"kind", "name", "namespace", "type", "status"}, nil)
	pagesDesc = prometheus.NewDesc("markdownview_pages_bytes",
		"The size of a MarkdownView's pages in bytes.",
		[]string{"namespace", "name"}, nil)
	waitingDesc = prometheus.NewDesc("markdownview_rollouts_waiting",
		"How many MarkdownViews wait for their turn to replace their pods.", nil, nil)
)

var _ prometheus.Collector = &Metrics{}

// NewMetrics returns metrics that read views from a cache. perView adds the conditions and
// the durations of each view.
func NewMetrics(reader client.Reader, perView bool) *Metrics {
	durationLabels := []string{"kind"}
	if perView {
		durationLabels = append(durationLabels, "name", "namespace")
	}
	m := &Metrics{
		reader:  reader,
		perView: perView,
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "gotk_reconcile_duration_seconds",
			Help:    "The duration in seconds of a reconciliation.",
			Buckets: prometheus.ExponentialBuckets(10e-4, 4, 9),
		}, durationLabels),
		drift: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "markdownview_drift_corrected_total",
			Help: "How many objects were found changed and were corrected, by kind.",
		}, []string{"kind"}),
		left: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "markdownview_drift_detected_total",
			Help: "How many objects were found changed and were left so, by kind.",
		}, []string{"kind"}),
		// Until there is a reconciler.
		pageBytes:       func(types.NamespacedName) int64 { return 0 },
		rolloutsWaiting: func() int { return 0 },
	}
	// Served from the start, or Prometheus would see no increase in the first.
	for _, kind := range []string{"ConfigMap", "Deployment", "Service"} {
		m.drift.WithLabelValues(kind)
		m.left.WithLabelValues(kind)
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.duration.Describe(ch)
	m.drift.Describe(ch)
	m.left.Describe(ch)
	ch <- infoDesc
	if m.perView {
		ch <- conditionDesc
	}
	ch <- pagesDesc
	ch <- waitingDesc
}

// scrapePatience is how long a scrape waits for the cache of views to be filled.
const scrapePatience = time.Second

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.duration.Collect(ch)
	m.drift.Collect(ch)
	m.left.Collect(ch)
	ch <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(m.rolloutsWaiting()))
	ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
	defer cancel()
	var views v1.MarkdownViewList
	err := m.reader.List(ctx, &views, client.UnsafeDisableDeepCopy)
	if ctx.Err() != nil {
		return // the cache isn't filled, which readiness tells; all else is still worth a scrape
	}
	if err != nil {
		ch <- prometheus.NewInvalidMetric(infoDesc, err)
		return
	}
	for i := range views.Items {
		m.collectView(ch, &views.Items[i])
	}
}

func (m *Metrics) collectView(ch chan<- prometheus.Metric, view *v1.MarkdownView) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	ready, reason := "Unknown", ""
	if condition := conditions.Get(view, meta.ReadyCondition); condition != nil {
		ready, reason = string(condition.Status), condition.Reason
	}
	gauge(infoDesc, 1, view.Namespace, view.Name, ready, reason, strconv.FormatBool(view.Spec.Suspend))
	if m.perView {
		collectConditions(ch, view)
	}
	if bytes := m.pageBytes(client.ObjectKeyFromObject(view)); bytes > 0 {
		gauge(pagesDesc, float64(bytes), view.Namespace, view.Name)
	}
}

func collectConditions(ch chan<- prometheus.Metric, view *v1.MarkdownView) {
	for _, condition := range view.Status.Conditions {
		for _, status := range []string{"True", "False", "Unknown"} {
			value := 0.0
			if string(condition.Status) == status {
				value = 1
			}
			ch <- prometheus.MustNewConstMetric(conditionDesc, prometheus.GaugeValue, value, v1.Kind, view.Name, view.Namespace, condition.Type, status)
		}
	}
}

func (m *Metrics) recordDuration(view *v1.MarkdownView, start time.Time) {
	m.duration.WithLabelValues(m.durationLabels(client.ObjectKeyFromObject(view))...).Observe(time.Since(start).Seconds())
}

// durationLabels are those of a view's durations.
func (m *Metrics) durationLabels(view types.NamespacedName) []string {
	if m.perView {
		return []string{v1.Kind, view.Name, view.Namespace}
	}
	return []string{v1.Kind}
}

func (m *Metrics) driftCorrected(kind string) {
	m.drift.WithLabelValues(kind).Inc()
}

func (m *Metrics) driftDetected(kind string) {
	m.left.WithLabelValues(kind).Inc()
}

// forget drops the series of a view that is gone.
func (m *Metrics) forget(view types.NamespacedName) {
	if m.perView {
		m.duration.DeleteLabelValues(m.durationLabels(view)...)
	}
}
