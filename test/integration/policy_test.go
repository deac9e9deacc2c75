package integration

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
	"github.com/zoetrope/markdown-view/test/product"
)

// withThePolicy applies config/admission-policy, for the test's namespace alone, with what
// else a kustomization of config/default may say, and waits until it is in force for an
// account, whose client it returns.
func (f *fixture) withThePolicy(account, kustomization string) client.Client {
	f.Helper()
	clustertest.Need(f, shared, cluster.Faults)
	for _, object := range f.build(kustomization + `
resources: [ROOT/config/default, ROOT/config/flux]
components: [ROOT/config/admission-policy]
patches:
- target: {kind: ValidatingAdmissionPolicyBinding}
  patch: |
    - op: add
      path: /spec/matchResources
      value: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + f.namespace + `}}}
`) {
		if object.GetKind() != "ValidatingAdmissionPolicy" && object.GetKind() != "ValidatingAdmissionPolicyBinding" {
			continue
		}
		// By kubectl: where a kustomization sets a namespace, kustomize gives these one too.
		f.mustKubectl(documents(f.T, []client.Object{object}), "apply", "--server-side", "-f", "-")
		f.Cleanup(func() { f.must(f.Client.Delete(context.WithoutCancel(f.Context()), object)) })
	}
	config, err := f.Cluster.User(account, serviceAccountGroups...)
	f.must(err)
	controller, err := product.NewClient(config)
	f.must(err)
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: f.namespace}}
	f.eventually("the policy to be in force", func() string {
		return refusedByThePolicy(controller.Create(f.Context(), probe.DeepCopy(), client.DryRunAll))
	})
	return controller
}

// refusedByThePolicy returns what is wrong with an answer, which is to be the policy's own
// refusal: the controller's roles refuse other things.
func refusedByThePolicy(err error) string {
	switch {
	case err == nil:
		return "it was allowed"
	case !strings.Contains(err.Error(), "denied request: the controller of MarkdownViews"):
		return err.Error()
	}
	return ""
}

// TestThePolicyFollowsTheInstallation builds config/default with another namespace and
// other names, where the account is another one too.
func TestThePolicyFollowsTheInstallation(t *testing.T) {
	for name, test := range map[string]struct{ account, kustomization string }{
		"as it is":                  {account: "markdown-view-system:markdown-view-controller"},
		"with a prefix":             {"markdown-view-system:team-markdown-view-controller", "namePrefix: team-\n"},
		"in another place, renamed": {"elsewhere:team-markdown-view-controller-b", "namespace: elsewhere\nnamePrefix: team-\nnameSuffix: -b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			account := "system:serviceaccount:" + test.account
			f.bind(account, "edit")
			// One cluster for all: the policies' names are to differ.
			f.withThePolicy(account, test.kustomization)
		})
	}
}

// TestTheControllerLivesWithThePolicy has the controller, which other tests use without
// it, do what it does to objects in its life.
func TestTheControllerLivesWithThePolicy(t *testing.T) {
	f := newFixture(t)
	f.withThePolicy(controllerUser, "nameSuffix: -of-life\n")
	t.Run("it creates, removes keys, restores and prunes", func(t *testing.T) {
		f := &fixture{f.For(t), f.namespace}
		view := f.view("big")
		view.Spec.Markdowns["start.md"] = strings.Repeat("# Start\n", 90_000)
		view.Spec.Markdowns["next.md"] = strings.Repeat("# Next\n", 90_000)
		f.create(view)
		f.ready("big")
		update(f, &corev1.ConfigMap{}, "markdowns-big.1", func(c *corev1.ConfigMap) { c.Data["foreign.md"] = "x" })
		f.eventually("the key to go", func() string {
			configMap := &corev1.ConfigMap{}
			f.get(configMap, "markdowns-big.1")
			return differs(configMap.Data["foreign.md"], "")
		})
		for name, lost := range map[string]client.Object{
			"markdowns-big": &corev1.ConfigMap{}, "viewer-big": &appsv1.Deployment{},
		} {
			f.get(lost, name)
			f.must(f.Client.Delete(t.Context(), lost))
			f.eventually(name+" to be restored", func() string {
				again := lost.DeepCopyObject().(client.Object)
				if !f.get(again, name) || again.GetUID() == lost.GetUID() {
					return "it isn't"
				}
				return ""
			})
		}
		f.ready("big")
		update(f, &v1.MarkdownView{}, "big", func(v *v1.MarkdownView) { v.Spec.Markdowns["next.md"] = "# Next\n" })
		f.eventually("the second ConfigMap to be pruned", func() string {
			if f.get(&corev1.ConfigMap{}, "markdowns-big.1") {
				return "it is there"
			}
			return ""
		})
		f.ready("big")
	})
	t.Run("it takes over the tutorial's objects", func(t *testing.T) {
		f := &fixture{f.For(t), f.namespace}
		view := f.view("docs")
		view.Spec.Suspend = true
		f.create(view)
		f.tutorialObjects(view)
		update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Suspend = false })
		f.ready("docs")
	})
	t.Run("it takes over what the function has rendered, and prunes it", func(t *testing.T) {
		f := &fixture{f.For(t), f.namespace}
		rendered := f.view("rendered")
		rendered.Spec.Markdowns["start.md"] = strings.Repeat("# Start\n", 90_000)
		rendered.Spec.Markdowns["next.md"] = strings.Repeat("# Next\n", 90_000)
		f.mustKubectl(documents(t, f.render(rendered)), "create", "-f", "-")
		f.create(f.view("rendered"))
		f.ready("rendered")
		if f.get(&corev1.ConfigMap{}, "markdowns-rendered.1") {
			t.Error("markdowns-rendered.1 is there")
		}
	})
	t.Run("it adopts what it is told to", func(t *testing.T) {
		f := &fixture{f.For(t), f.namespace}
		foreign := foreignObjects(f.namespace)["ConfigMap markdowns-docs"]
		foreign.SetName("markdowns-adopted")
		f.create(foreign)
		view := f.view("adopted")
		view.Annotations = map[string]string{v1.AdoptAnnotation: "true"}
		f.create(view)
		f.ready("adopted")
	})
	t.Run("it takes over fields that don't go together with its own, before the object is the view's", func(t *testing.T) {
		f := &fixture{f.For(t), f.namespace}
		service := foreignObjects(f.namespace)["Service viewer-docs"].(*corev1.Service)
		service.Name, service.Labels = "viewer-ports", generator.Labels("ports")
		service.Spec.Ports[0].Port = 81 // beside another one it needs a name
		f.create(service)
		f.create(f.view("ports"))
		f.ready("ports")
	})
}

// TestThePolicyHoldsTheController tries with the controller's account what it has no
// business with, although its rights allow it.
func TestThePolicyHoldsTheController(t *testing.T) {
	f := newFixture(t)
	controller := f.withThePolicy(controllerUser, "nameSuffix: -of-tries\n")
	f.must(f.Cluster.Grant(t.Context(), controllerUser, f.namespace, // beside its own rights
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"delete"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments/status"}, Verbs: []string{"patch"}}))
	f.create(f.view("docs"))
	f.ready("docs")
	theirs := f.foreignController()

	owner := func(kind, name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: v1.GroupVersion.String(), Kind: kind, Name: name, UID: "1", Controller: new(true)}
	}
	configMap := func(name, view string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace, Labels: generator.Labels(view), OwnerReferences: owners}}
	}
	create := func(object client.Object) func() error {
		return func() error { return controller.Create(t.Context(), object, client.DryRunAll) }
	}
	patch := func(object client.Object, name string, body map[string]any) func() error {
		return func() error {
			if !f.get(object, name) {
				t.Fatal(name + " isn't there")
			}
			text, err := json.Marshal(body)
			f.must(err)
			return controller.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", text), client.DryRunAll)
		}
	}
	labelled := func(labels map[string]string) *corev1.ConfigMap {
		c := configMap("markdowns-new", "new", owner(v1.Kind, "new"))
		c.Labels = labels
		return c
	}
	deployment := &appsv1.Deployment{}
	f.get(deployment, "viewer-docs")
	deployment.ObjectMeta = metav1.ObjectMeta{Name: "docs", Namespace: f.namespace, Labels: generator.Labels("docs"), OwnerReferences: deployment.OwnerReferences}
	service := foreignObjects(f.namespace)["Service viewer-docs"]
	service.SetName("kubernetes")
	f.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: f.namespace}})
	for name, test := range map[string]struct {
		try     func() error
		allowed bool
	}{
		"to create pages":                             {try: create(configMap("markdowns-new", "new", owner(v1.Kind, "new"))), allowed: true},
		"to create further pages":                     {try: create(configMap("markdowns-new.12", "new", owner(v1.Kind, "new"))), allowed: true},
		"to create a copy of pages":                   {try: create(configMap("markdowns-new.last", "new", owner(v1.Kind, "new"))), allowed: true},
		"to create a copy of further pages":           {try: create(configMap("markdowns-new.last.1", "new", owner(v1.Kind, "new"))), allowed: true},
		"to change a page":                            {try: patch(&corev1.ConfigMap{}, "markdowns-docs", map[string]any{"data": map[string]any{"start.md": "x"}}), allowed: true},
		"to create a ConfigMap of another name":       {try: create(configMap("settings-new", "new", owner(v1.Kind, "new")))},
		"to create a ConfigMap that begins with ours": {try: create(configMap("markdowns-new.settings", "new", owner(v1.Kind, "new")))},
		"to create a ConfigMap that ends with ours":   {try: create(configMap("x.markdowns-new", "new", owner(v1.Kind, "new")))},
		"to create pages without labels":              {try: create(labelled(nil))},
		"to create pages with the view's label only":  {try: create(labelled(map[string]string{generator.InstanceLabel: "new"}))},
		"to create pages with another view's labels":  {try: create(configMap("markdowns-new", "docs", owner(v1.Kind, "new")))},
		"to create pages with another view's name":    {try: create(configMap("markdowns-new", "docs", owner(v1.Kind, "docs")))},
		"to create pages of another view":             {try: create(configMap("markdowns-new", "new", owner(v1.Kind, "docs")))},
		"to create pages that nothing controls":       {try: create(configMap("markdowns-new", "new"))},
		"to create pages for another kind":            {try: create(configMap("markdowns-new", "new", owner("ConfigMap", "new")))},
		"to create a Deployment of another name":      {try: create(deployment)},
		"to create a Service of another name":         {try: create(service)},
		"to change a ConfigMap of another name":       {try: patch(&corev1.ConfigMap{}, "settings", map[string]any{"data": map[string]any{"a": "x"}})},
		"to change a Deployment of another name":      {try: patch(&appsv1.Deployment{}, "theirs", map[string]any{"spec": map[string]any{"replicas": 0}})},
		"to change what another controller has":       {try: patch(&corev1.ConfigMap{}, "markdowns-theirs", map[string]any{"data": map[string]any{"a": "x"}})},
		"to take what another controller has": {try: patch(&corev1.ConfigMap{}, "markdowns-theirs", map[string]any{"metadata": map[string]any{
			"labels": generator.Labels("theirs"), "ownerReferences": []metav1.OwnerReference{owner(v1.Kind, "theirs")},
		}})},
		"to take the labels off pages": {try: patch(&corev1.ConfigMap{}, "markdowns-docs", map[string]any{"metadata": map[string]any{"labels": nil}})},
		"to take the owner off pages":  {try: patch(&corev1.ConfigMap{}, "markdowns-docs", map[string]any{"metadata": map[string]any{"ownerReferences": nil}})},
		"to delete pages": {
			try: func() error { return controller.Delete(t.Context(), f.configMap(), client.DryRunAll) }, allowed: true,
		},
		"to delete a ConfigMap of another name": {try: func() error {
			return controller.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: f.namespace}}, client.DryRunAll)
		}},
		"to delete a Deployment of another name": {try: func() error {
			return controller.Delete(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Namespace: f.namespace}}, client.DryRunAll)
		}},
		"to write the status of a view's Deployment": {try: func() error {
			return controller.Status().Patch(t.Context(), f.deployment(), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"replicas":7}}`)), client.DryRunAll)
		}},
		"to delete what another controller has": {try: func() error { return controller.Delete(t.Context(), theirs, client.DryRunAll) }},
		"to write the status of a view": {try: func() error {
			view := f.ready("docs")
			return controller.Status().Patch(t.Context(), view, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"replicas":7}}`)), client.DryRunAll)
		}, allowed: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.try()
			if test.allowed && err != nil {
				t.Error(err)
			}
			if wrong := refusedByThePolicy(err); !test.allowed && wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// foreignController makes objects that somebody else has, one of which has the name of
// pages and another controller.
func (f *fixture) foreignController() client.Object {
	f.Helper()
	deployment := foreignObjects(f.namespace)["Deployment viewer-docs"]
	deployment.SetName("theirs")
	f.create(deployment)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "markdowns-theirs", Namespace: f.namespace,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "theirs", UID: deployment.GetUID(), Controller: new(true)}},
	}}
	f.create(theirs)
	return theirs
}

// TestThePolicysExpressionsAreTyped: the API server checks them, and warns in the status.
func TestThePolicysExpressionsAreTyped(t *testing.T) {
	f := newFixture(t)
	f.withThePolicy(controllerUser, "nameSuffix: -of-types\n")
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	f.eventually("the policy to be checked", func() string {
		f.must(f.Client.Get(t.Context(), client.ObjectKey{Name: "markdown-view-controller-of-types"}, policy))
		if policy.Status.TypeChecking == nil || policy.Status.ObservedGeneration != policy.Generation {
			return "it isn't"
		}
		return ""
	})
	for _, warning := range policy.Status.TypeChecking.ExpressionWarnings {
		t.Errorf("%s: %s", warning.FieldRef, warning.Warning)
	}
}
