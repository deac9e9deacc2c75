// Package account has the objects of views written with the rights of service accounts:
// it knows which accounts there are, asks what they may do, and has the clients that act
// as them.
//
// It may import the outcomes, and knows nothing of what is written.
package account

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/outcome"
)

// Accounts lets views' objects be written as service accounts of the views' namespaces.
// Views for which there is none are written with the controller's own rights.
type Accounts struct {
	// Default is the account of views that name none; empty for none.
	Default string
	// Own is the controller's own client, which asks what the controller may.
	Own client.Client
	// Metadata reads the metadata of ServiceAccounts from a cache.
	Metadata client.Reader
	// NewClient makes a client that acts as a user. It makes no request.
	NewClient func(user string) (client.Client, error)
	// Namespaces are the ones that are watched; empty means all.
	Namespaces []string

	watch watch

	mu      sync.Mutex
	clients map[types.NamespacedName]*acting
	byView  map[types.NamespacedName]types.NamespacedName
}

// acting is a client that acts as an account, and when it was used last.
type acting struct {
	client client.Client
	used   time.Time
}

// maxClients is how many clients there are at most. Those that aren't used are dropped;
// to make one again costs no request.
const maxClients = 128

// NameOf returns the name of a view's account; empty for the controller's own rights.
func (a *Accounts) NameOf(view *v1.MarkdownView) string {
	return cmp.Or(view.Spec.ServiceAccountName, a.Default)
}

// userOf is how the API server knows an account.
func userOf(account types.NamespacedName) string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", account.Namespace, account.Name)
}

// Check is the outcome of a view whose account isn't there; nil if it is, or there is none
// to be. It reads from a cache.
func (a *Accounts) Check(ctx context.Context, view *v1.MarkdownView) error {
	name := a.NameOf(view)
	if name == "" {
		a.Release(client.ObjectKeyFromObject(view))
		return nil
	}
	if err := a.watched(ctx, view.Namespace); err != nil {
		return err
	}
	err := a.Metadata.Get(ctx, types.NamespacedName{Namespace: view.Namespace, Name: name}, serviceAccount())
	if !apierrors.IsNotFound(err) {
		return err
	}
	a.Release(client.ObjectKeyFromObject(view))
	remedy := "create it, or name another one by spec.serviceAccountName"
	if view.Spec.ServiceAccountName == "" {
		remedy += "; it is the default of the controller for views that name none"
	}
	// The watch of accounts wakes the view when it is there.
	return &outcome.Error{State: outcome.Retrying, Reason: v1.AccessDeniedReason, Retry: missingRecheck,
		Message: fmt.Sprintf("ServiceAccount %s doesn't exist, so that nothing is written: %s", name, remedy)}
}

// missingRecheck is how soon it is looked again for an account that wasn't there, if the
// watch doesn't tell before.
const missingRecheck = time.Minute

// Writer returns the client that is to write a view's objects; nil for the controller's
// own. It is an error if the view's account isn't there, or lacks one of the rights that this
// needs: then nothing is to be written. That is asked, once, where more than one object is to be
// written, so that not only some of them are; a single write tells by itself.
func (a *Accounts) Writer(ctx context.Context, view *v1.MarkdownView, needs []Need) (client.Writer, error) {
	name := a.NameOf(view)
	if name == "" {
		return nil, nil
	}
	if err := a.Check(ctx, view); err != nil {
		return nil, err
	}
	account := types.NamespacedName{Namespace: view.Namespace, Name: name}
	c, err := a.client(account, client.ObjectKeyFromObject(view))
	if err != nil {
		return nil, fmt.Errorf("make a client for ServiceAccount %s: %w", name, err)
	}
	if !concernSeveral(needs) {
		return c, nil
	}
	lacking, err := lackingOf(ctx, c, account.Namespace, needs)
	if err != nil {
		return nil, a.Explain(view, err)
	}
	if len(lacking) > 0 {
		return nil, &outcome.Error{State: outcome.Retrying, Reason: v1.AccessDeniedReason,
			Message: fmt.Sprintf("%s may not %s, so that nothing is written: %s", userOf(account), strings.Join(lacking, ", "), bindRole)}
	}
	return c, nil
}

const bindRole = "bind a Role to it that allows it, such as the ClusterRole markdown-view-deployer of config/impersonation"

// Explain gives what the API server answered to a view's account the outcome that it has,
// if it lacks a right, or the controller that to act as it.
func (a *Accounts) Explain(view *v1.MarkdownView, err error) error {
	name := a.NameOf(view)
	if name == "" || !apierrors.IsForbidden(err) {
		return err
	}
	user := userOf(types.NamespacedName{Namespace: view.Namespace, Name: name})
	switch text := err.Error(); {
	case strings.Contains(text, " cannot impersonate "):
		return notPermitted()
	// Quotas and admission policies forbid, too, but not by whose request it is.
	case strings.Contains(text, fmt.Sprintf("User %q cannot ", user)):
		return &outcome.Error{State: outcome.Retrying, Reason: v1.AccessDeniedReason, Err: err,
			Message: fmt.Sprintf("ServiceAccount %s lacks a right: %s", name, bindRole)}
	}
	return err
}

// client returns the client of an account, and notes that a view uses it.
func (a *Accounts) client(account, view types.NamespacedName) (client.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before, ok := a.byView[view]; ok && before != account {
		a.release(view)
	}
	if a.clients == nil {
		a.clients, a.byView = map[types.NamespacedName]*acting{}, map[types.NamespacedName]types.NamespacedName{}
	}
	known, ok := a.clients[account]
	if !ok {
		c, err := a.NewClient(userOf(account))
		if err != nil {
			return nil, err
		}
		for len(a.clients) >= maxClients {
			a.dropOldest()
		}
		known = &acting{client: c}
		a.clients[account] = known
	}
	known.used = time.Now()
	a.byView[view] = account
	return known.client, nil
}

// dropOldest drops the client that wasn't used for the longest time. The lock is held.
func (a *Accounts) dropOldest() {
	oldest := slices.MinFunc(slices.Collect(maps.Keys(a.clients)), func(x, y types.NamespacedName) int {
		return a.clients[x].used.Compare(a.clients[y].used)
	})
	delete(a.clients, oldest)
}

// Release drops the client of a view's account, unless other views use it.
func (a *Accounts) Release(view types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.release(view)
}

// release is Release with the lock held.
func (a *Accounts) release(view types.NamespacedName) {
	account, ok := a.byView[view]
	if !ok {
		return
	}
	delete(a.byView, view)
	for _, other := range a.byView {
		if other == account {
			return
		}
	}
	delete(a.clients, account)
}
