package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"

	"github.com/fluxcd/pkg/runtime/events"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// receiver takes events when it is told to.
type receiver struct {
	*httptest.Server
	goOn   chan struct{}
	posted chan map[string]any
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{goOn: make(chan struct{}), posted: make(chan map[string]any, 2*maxWaiting)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		var event map[string]any
		if err := json.NewDecoder(request.Body).Decode(&event); err != nil {
			t.Error(err)
		}
		r.posted <- event
		<-r.goOn
	}))
	t.Cleanup(r.Close)
	return r
}

// start runs a recorder that posts to a receiver, until the test ends, which releases
// the receiver.
func (r *receiver) start(t *testing.T) *Recorder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	newRecorder := func(address string, options ...events.RecorderOption) events.Recorder {
		recorder, err := events.NewRecorder(funcr.New(func(string, string) {}, funcr.Options{}), address, "test", append(options, events.WithScheme(scheme), events.WithRetryMax(0))...)
		if err != nil {
			t.Fatal(err)
		}
		return recorder
	}
	recorder := NewRecorder(newRecorder("", events.WithLegacyEventRecorder(&record.FakeRecorder{})), newRecorder(r.URL), scheme)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := recorder.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		close(r.goOn)
		running.Wait()
	})
	return recorder
}

func view(namespace string) *v1.MarkdownView {
	return &v1.MarkdownView{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "docs", UID: "1",
		Annotations: map[string]string{"event.toolkit.fluxcd.io/team": "writers", "other": "x"},
	}}
}

// dropped is what the metric says.
func dropped(t *testing.T, recorder *Recorder) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(recorder)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "markdownview_events_dropped_total" {
		t.Fatalf("served are %v, %v", families, err)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}

// TestHangingReceiverDelaysNobody takes one event and doesn't answer: nobody waits for
// it, and what can't be kept is counted.
func TestHangingReceiverDelaysNobody(t *testing.T) {
	r := newReceiver(t)
	recorder := r.start(t)
	recorder.Eventf(view("docs"), nil, corev1.EventTypeNormal, "Healthy", "Reconcile", "first")
	<-r.posted
	for range 10 * maxWaitingOfNamespace {
		recorder.Eventf(view("loud"), nil, corev1.EventTypeNormal, "Healthy", "Reconcile", "again")
	}
	if got := dropped(t, recorder); got != 9*maxWaitingOfNamespace {
		t.Errorf("%v events were dropped of a namespace with many, want %d", got, 9*maxWaitingOfNamespace)
	}
	for i := range maxWaitingOfNamespace {
		recorder.Eventf(view("docs"), nil, corev1.EventTypeNormal, "Healthy", "Reconcile", "%d", i)
	}
	if got := dropped(t, recorder); got != 9*maxWaitingOfNamespace {
		t.Errorf("another namespace's events were dropped, %v in all", got)
	}
	for i := range 2 * maxWaiting {
		recorder.Eventf(view(fmt.Sprint(i)), nil, corev1.EventTypeNormal, "Healthy", "Reconcile", "first")
	}
	if got := len(recorder.waiting); got != maxWaiting {
		t.Errorf("%d events wait", got)
	}
}

// TestPostedEvent is what Flux's notification-controller gets.
func TestPostedEvent(t *testing.T) {
	r := newReceiver(t)
	recorder := r.start(t)
	related := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "viewer-docs"}}
	given := map[string]string{"revision": "main"}
	recorder.AnnotatedEventf(view("docs"), related, given, corev1.EventTypeWarning, "DriftCorrected", "Reconcile", "%s", "100% sure")
	got := <-r.posted
	for _, volatile := range []string{"timestamp", "reportingInstance"} {
		delete(got, volatile)
	}
	want := map[string]any{
		"involvedObject": map[string]any{"apiVersion": v1.GroupVersion.String(), "kind": v1.Kind, "namespace": "docs", "name": "docs", "uid": "1"},
		"relatedObject":  map[string]any{"apiVersion": "v1", "kind": "Service", "namespace": "docs", "name": "viewer-docs"},
		"severity":       "error", "reason": "DriftCorrected", "action": "Reconcile", "message": "100% sure", "reportingController": "test",
		"metadata": map[string]any{"revision": "main", "event.toolkit.fluxcd.io/team": "writers"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(given) != 1 {
		t.Errorf("the annotations that were given are now %v", given)
	}
}
