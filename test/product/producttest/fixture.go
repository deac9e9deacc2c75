// Package producttest is package product for Go tests: a namespace of a test's own in a
// cluster with the product, what tests do there, and what they wait for. A package's
// tests embed its Fixture in one that adds what only they need. It builds on clustertest,
// which knows nothing of the product.
package producttest

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/product"
)

// Fixture is a namespace of a test's own, in a cluster with the product. Whatever fails
// ends the test.
type Fixture struct {
	*testing.T
	*product.Product
	// Namespace is the test's own.
	Namespace string
	// Limit is how long the test waits for what should take seconds.
	Limit time.Duration
	// fence has the view of CaughtUp; nil until there is one.
	fence *Fixture
}

// New makes a namespace for a test.
func New(t *testing.T, p *product.Product, limit time.Duration) *Fixture {
	t.Helper()
	return &Fixture{T: t, Product: p, Namespace: clustertest.Namespace(t, p.Cluster), Limit: limit}
}

// For returns the fixture as that of a subtest, which works in the same namespace.
func (f *Fixture) For(t *testing.T) *Fixture {
	of := *f
	of.T = t
	return &of
}

// Must ends the test if there is an error.
func (f *Fixture) Must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// Create makes an object, in the test's namespace if its kind has namespaces and it names
// none.
func (f *Fixture) Create(object client.Object) {
	f.Helper()
	namespaced, err := f.Client.IsObjectNamespaced(object)
	f.Must(err)
	if namespaced && object.GetNamespace() == "" {
		object.SetNamespace(f.Namespace)
	}
	f.Must(f.Client.Create(f.Context(), object))
}

// Get reads an object of the test's namespace; false if there is none.
func (f *Fixture) Get(object client.Object, name string) bool {
	f.Helper()
	err := f.Client.Get(f.Context(), client.ObjectKey{Namespace: f.Namespace, Name: name}, object)
	f.Must(client.IgnoreNotFound(err))
	return err == nil
}

// Live returns an object of the test's namespace, which has to be there.
func Live[T any, P interface {
	*T
	client.Object
}](f *Fixture, name string) P {
	f.Helper()
	object := P(new(T))
	if !f.Get(object, name) {
		f.Fatalf("%T %s doesn't exist", *object, name)
	}
	return object
}

// Update changes an object as kubectl edit does, again if it was changed meanwhile.
func Update[T client.Object](f *Fixture, object T, name string, change func(T)) {
	f.Helper()
	f.Eventually("the update of "+name, func() string {
		if !f.Get(object, name) {
			return "it doesn't exist"
		}
		change(object)
		if err := f.Client.Update(f.Context(), object, client.FieldOwner("kubectl-edit")); err != nil {
			return err.Error()
		}
		return ""
	})
}

// Patch changes fields of an object, as kubectl patch does.
func (f *Fixture) Patch(object client.Object, name, patch string) {
	f.Helper()
	object.SetNamespace(f.Namespace)
	object.SetName(name)
	f.Must(f.Client.Patch(f.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("kubectl-patch")))
}

// Pods returns those of a view, except those that are being deleted.
func (f *Fixture) Pods(view string) []corev1.Pod {
	f.Helper()
	var list corev1.PodList
	f.Must(f.Client.List(f.Context(), &list, client.InNamespace(f.Namespace), client.MatchingLabels(generator.Labels(view))))
	var pods []corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, list.Items[i])
		}
	}
	return pods
}

// Kubectl runs kubectl in the test's namespace, as the administrator, and returns what it
// prints, errors too.
func (f *Fixture) Kubectl(input string, args ...string) (string, error) {
	return f.Cluster.Kubectl(f.Context(), input, append([]string{"--namespace", f.Namespace}, args...)...)
}

// MustKubectl is Kubectl that has to succeed.
func (f *Fixture) MustKubectl(input string, args ...string) string {
	f.Helper()
	out, err := f.Kubectl(input, args...)
	f.Must(err)
	return out
}

// DescribeFailure has kubectl show what there is in the namespace of a test that failed.
// Each command is a line of arguments.
func (f *Fixture) DescribeFailure(commands ...string) {
	f.Cleanup(func() {
		if !f.Failed() {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		for _, command := range commands {
			out, _ := f.Cluster.Kubectl(ctx, "", append(strings.Fields(command), "--namespace", f.Namespace)...) // the error is in the output
			f.Logf("kubectl %s\n%s", command, out)
		}
	})
}

// Mark is now, in the log of the API server's requests.
func (f *Fixture) Mark() cluster.Mark {
	f.Helper()
	mark, err := f.Cluster.Mark(f.Context())
	f.Must(err)
	return mark
}

// Requests returns those in the test's namespace since a mark.
func (f *Fixture) Requests(since cluster.Mark, filters ...cluster.Filter) []cluster.Request {
	f.Helper()
	list, err := f.Cluster.Requests(f.Context(), since, append(filters, cluster.In(f.Namespace))...)
	f.Must(err)
	return list
}

// Lines lists requests, for a message.
func Lines(requests []cluster.Request) string {
	var b strings.Builder
	for _, r := range requests {
		b.WriteString("  " + r.String() + "\n")
	}
	return b.String()
}
