package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	ctrl "sigs.k8s.io/controller-runtime"
)

// addReadiness has the controller be ready once views, ConfigMaps and pods are in its caches,
// whether it leads or not. They never are while one of the namespaces that it is to watch can't
// be listed: an upgrade is not to replace one that works by one that doesn't. What else it
// watches it lists when it leads, and ends if that takes too long.
func addReadiness(mgr ctrl.Manager) error {
	var filled atomic.Bool
	if err := mgr.Add(afterCaches(func() { filled.Store(true) })); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("caches", func(*http.Request) error {
		if !filled.Load() {
			return errors.New("the caches aren't filled yet: if it lasts, the log says what can't be listed")
		}
		return nil
	})
}

// afterCaches is called by the manager once its caches are filled.
type afterCaches func()

// Start is a manager's.
func (f afterCaches) Start(context.Context) error {
	f()
	return nil
}

// NeedLeaderElection is a manager's.
func (afterCaches) NeedLeaderElection() bool { return false }
