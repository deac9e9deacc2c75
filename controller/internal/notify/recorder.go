// Package notify posts events to a webhook, beside the reconciler: a receiver that hangs
// or fails costs events, and no reconciliation waits for it.
package notify

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/reference"
	"sigs.k8s.io/controller-runtime/pkg/client"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"github.com/fluxcd/pkg/runtime/events"
)

// What waits to be posted at most: in all, and of one namespace, so that none of them has
// all of it.
const (
	maxWaiting            = 1024
	maxWaitingOfNamespace = 64
)

// AnnotationPrefix is that of an object's own annotations that go with its events.
const AnnotationPrefix = eventv1.Group + "/"

// Recorder records events in the cluster, and posts them to a webhook in their order. What
// it can't keep up with is dropped, and counted. It is a Prometheus collector and, for a
// manager, a Runnable.
type Recorder struct {
	events.Recorder
	webhook events.Recorder
	scheme  *runtime.Scheme
	dropped prometheus.Counter
	waiting chan notification

	mu          sync.Mutex
	byNamespace map[string]int
}

// notification is an event that is to be posted. It holds no object: views may be large.
type notification struct {
	object, related                    *corev1.ObjectReference
	annotations                        map[string]string
	eventType, reason, action, message string
}

// NewRecorder returns a recorder that has cluster record events, and webhook post them; no
// webhook means that they aren't posted.
func NewRecorder(cluster, webhook events.Recorder, scheme *runtime.Scheme) *Recorder {
	return &Recorder{
		Recorder: cluster, webhook: webhook, scheme: scheme,
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "markdownview_events_dropped_total",
			Help: "How many events weren't posted to --events-addr, because it didn't take those before in time.",
		}),
		waiting:     make(chan notification, maxWaiting),
		byNamespace: map[string]int{},
	}
}

// Eventf implements events.Recorder.
func (r *Recorder) Eventf(object, related runtime.Object, eventType, reason, action, format string, args ...any) {
	r.AnnotatedEventf(object, related, nil, eventType, reason, action, format, args...)
}

// AnnotatedEventf implements events.Recorder. It doesn't wait.
func (r *Recorder) AnnotatedEventf(object, related runtime.Object, annotations map[string]string, eventType, reason, action, format string, args ...any) {
	r.Recorder.AnnotatedEventf(object, related, annotations, eventType, reason, action, format, args...)
	if r.webhook == nil {
		return
	}
	ref, err := reference.GetReference(r.scheme, object)
	if err != nil {
		return // the cluster's recorder has logged it
	}
	n := notification{object: ref, annotations: maps.Clone(annotations), eventType: eventType, reason: reason, action: action, message: fmt.Sprintf(format, args...)}
	if relatedRef, err := reference.GetReference(r.scheme, related); err == nil {
		n.related = relatedRef
	}
	if annotated, ok := object.(client.Object); ok {
		n.addOwn(annotated.GetAnnotations())
	}
	if !r.enqueue(n) {
		r.dropped.Inc()
	}
}

// addOwn adds those of an object's annotations that are for its events.
func (n *notification) addOwn(annotations map[string]string) {
	for key, value := range annotations {
		if strings.HasPrefix(key, AnnotationPrefix) {
			if n.annotations == nil {
				n.annotations = map[string]string{}
			}
			n.annotations[key] = value
		}
	}
}

// enqueue reports whether there is room for an event.
func (r *Recorder) enqueue(n notification) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byNamespace[n.object.Namespace] >= maxWaitingOfNamespace {
		return false
	}
	select {
	case r.waiting <- n:
		r.byNamespace[n.object.Namespace]++
		return true
	default:
		return false
	}
}

// dequeued makes room for another event of a namespace.
func (r *Recorder) dequeued(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byNamespace[namespace]--; r.byNamespace[namespace] == 0 {
		delete(r.byNamespace, namespace)
	}
}

// Start posts events until the context ends. What waits then is dropped.
func (r *Recorder) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case n := <-r.waiting:
			r.dequeued(n.object.Namespace)
			var related runtime.Object // nil, not a nil reference
			if n.related != nil {
				related = n.related
			}
			r.webhook.AnnotatedEventf(n.object, related, n.annotations, n.eventType, n.reason, n.action, "%s", n.message)
		}
	}
}

// Describe implements prometheus.Collector.
func (r *Recorder) Describe(ch chan<- *prometheus.Desc) { r.dropped.Describe(ch) }

// Collect implements prometheus.Collector.
func (r *Recorder) Collect(ch chan<- prometheus.Metric) { r.dropped.Collect(ch) }
