package account

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// watch is that of ServiceAccounts, from the first view that has one on: a controller
// that isn't permitted to act as them isn't permitted to see them.
type watch struct {
	controller controller.Controller
	cache      cache.Cache
	enqueue    handler.TypedEventHandler[*metav1.PartialObjectMetadata, reconcile.Request]

	mu    sync.Mutex
	since time.Time
	// asked is when the controller was found not to be permitted last.
	asked time.Time
}

// permittedRecheck is how often it is asked whether the controller is permitted to see
// accounts meanwhile: once for all views that wait for it.
const permittedRecheck = 15 * time.Second

// syncTimeout is how long the cache of accounts may take to be filled before that is
// reported.
const syncTimeout = 10 * time.Second

// SetUp names the controller that is to watch the accounts, and the function that finds
// the views of one.
func (a *Accounts) SetUp(c controller.Controller, metadata cache.Cache, viewsOf handler.TypedMapFunc[*metav1.PartialObjectMetadata, reconcile.Request]) {
	a.watch.controller, a.watch.cache = c, metadata
	a.watch.enqueue = handler.TypedEnqueueRequestsFromMapFunc(viewsOf)
}

// watched sees to it that the accounts are in the cache. It is an error as long as they
// aren't: no worker waits for it.
func (a *Accounts) watched(ctx context.Context, namespace string) error {
	w := &a.watch
	if w.controller == nil {
		return nil // a cluster in memory
	}
	since, err := a.startWatch(ctx, namespace)
	if err != nil {
		return err
	}
	informer, err := w.cache.GetInformer(ctx, serviceAccount(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch ServiceAccounts: %w", err)
	}
	switch {
	case informer.HasSynced():
		return nil
	case time.Since(since) < syncTimeout:
		return &outcome.Error{State: outcome.Unreported, Retry: time.Second, Message: "the cache of ServiceAccounts is being filled"}
	}
	return &outcome.Error{State: outcome.Retrying, Reason: v1.AccessDeniedReason, Retry: syncTimeout,
		Message: "the controller can't list ServiceAccounts; its log says why"}
}

// startWatch starts the watch, unless it was, and returns since when it goes on.
func (a *Accounts) startWatch(ctx context.Context, namespace string) (time.Time, error) {
	w := &a.watch
	w.mu.Lock()
	since, asked := w.since, w.asked
	w.mu.Unlock()
	if !since.IsZero() {
		return since, nil
	}
	if time.Since(asked) < permittedRecheck {
		return since, notPermitted()
	}
	permitted, err := a.permitted(ctx, namespace)
	if err != nil {
		return since, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.since.IsZero():
		return w.since, nil
	case !permitted:
		w.asked = time.Now()
		return since, notPermitted()
	}
	if err := w.controller.Watch(source.Kind(w.cache, serviceAccount(), w.enqueue, comesOrGoes())); err != nil {
		return since, fmt.Errorf("watch ServiceAccounts: %w", err)
	}
	w.since = time.Now()
	return w.since, nil
}

// permitted asks whether the controller may see accounts, which comes with the right to
// act as them.
func (a *Accounts) permitted(ctx context.Context, namespace string) (bool, error) {
	if len(a.Namespaces) == 0 {
		namespace = "" // all of them
	}
	need := Need{Verb: "list", Resource: "serviceaccounts"}
	permitted, err := need.allowed(ctx, a.Own, namespace)
	if mayNotAsk(err) {
		return true, nil // it will show
	}
	return permitted, err
}

// notPermitted is the outcome of a controller that isn't set up for accounts.
func notPermitted() error {
	return &outcome.Error{State: outcome.Retrying, Reason: v1.AccessDeniedReason, Retry: permittedRecheck,
		Message: "the controller may not impersonate ServiceAccounts, so that nothing is written: install config/impersonation"}
}

// comesOrGoes passes what views see of an account.
func comesOrGoes() predicate.TypedPredicate[*metav1.PartialObjectMetadata] {
	return predicate.TypedFuncs[*metav1.PartialObjectMetadata]{
		UpdateFunc: func(event.TypedUpdateEvent[*metav1.PartialObjectMetadata]) bool { return false },
	}
}

// serviceAccount returns the metadata of none yet.
func serviceAccount() *metav1.PartialObjectMetadata {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	return metadata
}
