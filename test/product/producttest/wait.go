package producttest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/conditions/check"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/argocd"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// Eventually waits until nothing is missing any more. missing returns what is.
func (f *Fixture) Eventually(what string, missing func() string) {
	f.Helper()
	clustertest.Eventually(f, f.Limit, clustertest.Often, what, missing)
}

// While looks for some time whether something is broken, and fails if it is. broken
// returns what is.
func (f *Fixture) While(limit time.Duration, what string, broken func() string) {
	f.Helper()
	end := time.After(limit)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		if broken := broken(); broken != "" {
			f.Fatalf("%s: %s", what, broken)
		}
		select {
		case <-end:
			return
		case <-ticker.C:
		}
	}
}

// Differs returns how a text differs from the one that is wanted, for Eventually; empty if
// it doesn't.
func Differs(got, want string) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("it is %q, not %q", got, want)
}

// Status waits until a view's Ready condition is about its current generation and is as it
// should be, with these words in its message. Flux's rules have to hold for what is seen, and
// Argo CD has to understand it.
func (f *Fixture) Status(name string, want metav1.ConditionStatus, reason string, words ...string) *v1.MarkdownView {
	f.Helper()
	view := &v1.MarkdownView{}
	f.Eventually(fmt.Sprintf("%s to be Ready=%s, %s %q", name, want, reason, words), func() string {
		if !f.Get(view, name) {
			return "the view doesn't exist"
		}
		ready := conditions.Get(view, meta.ReadyCondition)
		switch {
		case ready == nil:
			return "it has no Ready condition"
		case ready.ObservedGeneration != view.Generation:
			return "its Ready condition is of an earlier generation: " + ready.Message
		}
		CheckConditions(f.T, view) // in between, too
		if ready.Status != want || ready.Reason != reason || !containsAll(ready.Message, words) {
			return fmt.Sprintf("it is Ready=%s, %s: %s", ready.Status, ready.Reason, ready.Message)
		}
		return ""
	})
	return view
}

// Ready waits until a view is served as it is wanted now.
func (f *Fixture) Ready(name string) *v1.MarkdownView {
	f.Helper()
	return f.Status(name, metav1.ConditionTrue, v1.HealthyReason)
}

func containsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// CheckConditions fails the test if a view's conditions break Flux's rules, or tell Argo CD
// something wrong.
func CheckConditions(t *testing.T, view *v1.MarkdownView) {
	t.Helper()
	checker := check.NewChecker(nil, &check.Conditions{NegativePolarity: []string{meta.StalledCondition, meta.ReconcilingCondition}})
	checker.DisableFetch = true
	fail, warn := checker.Check(t.Context(), view)
	if err := errors.Join(fail, warn); err != nil {
		t.Errorf("the conditions of %s break Flux's rules: %v\n%v", view.Name, err, view.Status.Conditions)
	}
	if err := argocd.Check(t.Context(), view); err != nil {
		t.Errorf("Argo CD's health check: %v\n%v", err, view.Status.Conditions)
	}
}
