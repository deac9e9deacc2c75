package integration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/product"
)

func patchOf(kind, text string) v1.Patch {
	return v1.Patch{Patch: text, Target: &v1.PatchTarget{Kind: kind}}
}

// patchedView has three patches and metadata of its own.
func (f *fixture) patchedView() *v1.MarkdownView {
	view := f.view("docs")
	view.Spec.CommonMetadata = &v1.CommonMetadata{Labels: map[string]string{"team": "docs"}, Annotations: map[string]string{"example.com/owner": "docs"}}
	view.Spec.Patches = []v1.Patch{
		patchOf("Deployment", "spec:\n  minReadySeconds: 1\n  template:\n    spec:\n      tolerations: [{key: docs, operator: Exists}]\n      imagePullSecrets: [{name: registry}]\n"),
		patchOf("Deployment", "- {op: add, path: /spec/template/spec/containers/0/args/-, value: --open}\n"),
		patchOf("Service", "spec:\n  type: NodePort\n"),
	}
	return view
}

// TestFrontEndsAgreeOnThePatchesToCopy takes the manifests of docs/customize.md.
func TestFrontEndsAgreeOnThePatchesToCopy(t *testing.T) {
	text, err := os.ReadFile("../../docs/customize.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n## ([^\n]*)\n.*?\n```yaml\n(.*?)\n```\n").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 12 {
		t.Fatalf("there are %d", len(blocks))
	}
	for _, block := range blocks {
		t.Run(block[1], func(t *testing.T) {
			f := newFixture(t)
			pages := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: f.view("").Spec.Markdowns}
			pages.Name = "handbook-pages"
			f.agree(append(decodeAll(t, []byte(block[2])), asUnstructured(pages))...)
		})
	}
}

// agree holds what the function prints against what the controller applies, whether that
// gets ready or not: no node has what the patches ask for.
func (f *fixture) agree(input ...*unstructured.Unstructured) {
	f.Helper()
	var views []string
	given := map[string]bool{}
	for _, object := range input {
		object.SetNamespace(f.namespace)
		given[object.GetKind()+" "+object.GetName()] = true
		if object.GetKind() == v1.Kind {
			views = append(views, object.GetName())
		}
	}
	// By hand, the function takes nothing that isn't a view's.
	mine := slices.DeleteFunc(slices.Clone(input), func(o *unstructured.Unstructured) bool { return o.GetKind() != v1.Kind && o.GetKind() != "ConfigMap" })
	printed, err := f.Render(f.Context(), f.TempDir(), []byte(documents(f.T, mine)))
	f.must(err)
	want, err := product.Text(printed)
	f.must(err)
	for name := range given {
		delete(want, name)
	}
	for _, object := range input {
		f.create(object)
	}
	got := map[string]string{}
	for _, view := range views {
		f.eventually("the objects of "+view, func() string {
			var object v1.MarkdownView
			if f.get(&object, view); object.Status.Inventory == nil {
				return "it wasn't applied: " + readyMessage(&object)
			}
			return ""
		})
		owned, err := f.Owned(f.Context(), f.namespace, view)
		f.must(err)
		texts, err := product.Text(owned)
		f.must(err)
		maps.Copy(got, texts)
	}
	for name := range want {
		if diff := differs(got[name], want[name]); diff != "" {
			f.Errorf("%s: %s", name, diff)
		}
	}
	if len(want) != len(got) || len(want) < 3*len(views) {
		f.Errorf("the function prints %d objects, the controller applies %d", len(want), len(got))
	}
}

func asUnstructured(pages *corev1.ConfigMap) *unstructured.Unstructured {
	data := map[string]any{}
	for path, text := range pages.Data {
		data[path] = text
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": pages.Name}, "data": data}}
}

// TestFrontEndsAgreeOnRandomPatches takes 200 views, parked, so that no pod is needed.
func TestFrontEndsAgreeOnRandomPatches(t *testing.T) {
	f := newFixture(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	some := func(text ...string) string { return text[random.IntN(len(text))] }
	patches := []func() v1.Patch{
		func() v1.Patch {
			return patchOf("Deployment", fmt.Sprintf("spec:\n  minReadySeconds: %d\n  template:\n    spec:\n      priorityClassName: %s\n", 1+random.IntN(9), some("low", "high")))
		},
		func() v1.Patch {
			return patchOf("Deployment", fmt.Sprintf("spec:\n  template:\n    spec:\n      containers:\n      - name: mdbook\n        env: [{name: %s, value: b}]\n        resources: {limits: {memory: %dMi}}\n      - {name: proxy, image: proxy, ports: [{containerPort: 8080, protocol: TCP}]}\n", some("A", "B"), 64+random.IntN(64)))
		},
		func() v1.Patch {
			return patchOf("Deployment", fmt.Sprintf("- {op: add, path: /spec/template/spec/%s, value: %d}\n- {op: add, path: /metadata/labels/a~1b, value: c}\n", some("terminationGracePeriodSeconds", "securityContext/fsGroup"), 7+random.IntN(9)))
		},
		func() v1.Patch {
			return patchOf("Deployment", some(
				"spec: {template: {spec: {tolerations: [{operator: Exists}], nodeSelector: {a: b}}}}", "spec: {template: {metadata: {labels: {a: b}, annotations: {c: d}}}}",
				"spec: {strategy: {rollingUpdate: null, type: Recreate}}", "metadata: {labels: {only: deployment}}", "spec: {template: {spec: {volumes: [{name: extra, emptyDir: {}}]}}}"))
		},
		func() v1.Patch {
			return patchOf("Service", some("spec: {type: NodePort}", "spec: {sessionAffinity: ClientIP}", "- {op: replace, path: /spec/type, value: LoadBalancer}", "metadata: {annotations: {a: b}}"))
		},
		func() v1.Patch { return patchOf("ConfigMap", "metadata: {labels: {pages: "+some("a", "b")+"}}") },
	}
	var views []*unstructured.Unstructured
	for i := range 200 {
		view := f.view(fmt.Sprintf("v%d", i))
		view.Spec.Replicas = new(int32)
		if random.IntN(2) == 0 {
			view.Spec.CommonMetadata = &v1.CommonMetadata{Labels: map[string]string{"team": some("a", "b")}, Annotations: map[string]string{"example.com/owner": some("c", "")}}
		}
		for range random.IntN(5) {
			view.Spec.Patches = append(view.Spec.Patches, patches[random.IntN(len(patches))]())
		}
		views = append(views, f.unstructured(view))
	}
	f.agree(views...)
}

func TestAPatchedViewKeepsItsBudgets(t *testing.T) {
	f := newFixture(t)
	since := f.mark()
	f.create(f.patchedView())
	f.ready("docs")
	f.atMost(6, since)

	f.settled("docs")
	since = f.mark()
	update(f, &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	f.eventually("the type of the Service", func() string {
		service := &corev1.Service{}
		f.get(service, "viewer-docs")
		return differs(string(service.Spec.Type), "NodePort")
	})
	f.caughtUp()
	f.atMost(3, since)

	f.settled("docs")
	since = f.mark()
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
		v.Spec.Patches = append(v.Spec.Patches, patchOf("Deployment", "metadata: {annotations: {a: b}}"))
	})
	f.ready("docs")
	f.atMost(3, since)
	if generation := f.deployment().Status.ObservedGeneration; len(f.deployment().Annotations) < 2 {
		t.Errorf("generation %d has the annotations %v", generation, f.deployment().Annotations)
	}
}

// TestADroppedPatchGivesUpItsFields looks at who owns what.
func TestADroppedPatchGivesUpItsFields(t *testing.T) {
	f := newFixture(t)
	f.create(f.patchedView())
	f.ready("docs")
	for _, field := range []string{`"f:minReadySeconds":{}`, `"f:tolerations":{}`, `k:{\"name\":\"registry\"}`, `"f:team":{}`, `"f:example.com/owner":{}`} {
		if !owns(f.deployment(), field) {
			t.Errorf("%s isn't owned: %s", field, managed(f.deployment()))
		}
	}
	if owns(f.deployment(), `"f:progressDeadlineSeconds"`) || owns(f.deployment(), `"f:dnsPolicy"`) {
		t.Errorf("more is owned than is meant: %s", managed(f.deployment()))
	}
	update(f, &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Labels["theirs"] = "stays" })
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Patches, v.Spec.CommonMetadata = nil, nil })
	f.ready("docs")
	deployment := f.deployment()
	pod := deployment.Spec.Template.Spec
	if deployment.Spec.MinReadySeconds != 0 || len(pod.Tolerations) > 0 || len(pod.ImagePullSecrets) > 0 || len(pod.Containers[0].Args) != 3 || deployment.Labels["team"] != "" {
		t.Errorf("something is left: %+v", deployment.Spec)
	}
	service := &corev1.Service{}
	if f.get(service, "viewer-docs"); service.Spec.Type != corev1.ServiceTypeClusterIP {
		t.Errorf("the Service is of type %s", service.Spec.Type)
	}
}

func managed(deployment *appsv1.Deployment) string {
	for _, entry := range deployment.ManagedFields {
		if entry.Manager == "markdown-view-controller" && entry.Subresource == "" {
			return entry.FieldsV1.String()
		}
	}
	return ""
}

func owns(deployment *appsv1.Deployment, field string) bool {
	return strings.Contains(managed(deployment), field)
}

func TestAPatchThatGoesWrongInAPod(t *testing.T) {
	f := newFixture(t)
	view := f.view("docs")
	view.Spec.Timeout = &metav1.Duration{Duration: 3 * time.Second}
	f.create(view)
	f.ready("docs")
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
		v.Spec.Patches = []v1.Patch{patchOf("Deployment", "spec: {template: {spec: {nodeSelector: {no: such}}}}")}
	})
	f.rolloutFailed("Unschedulable")
	if available := f.deployment().Status.AvailableReplicas; available != 1 {
		t.Errorf("%d replicas serve", available)
	}
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Patches = nil })
	f.ready("docs")
}

// TestAPatchOfAFieldThatIsNotKnown has the API server refuse it, for good.
func TestAPatchOfAFieldThatIsNotKnown(t *testing.T) {
	f := newFixture(t)
	f.create(f.view("docs"))
	f.ready("docs")
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) {
		v.Spec.Patches = []v1.Patch{patchOf("Deployment", "spec: {template: {spec: {nodeSelectors: {a: b}}}}")}
	})
	view := f.status("docs", metav1.ConditionFalse, v1.ApplyFailedReason,
		"Deployment viewer-docs", ".spec.template.spec.nodeSelectors: field not declared in schema: correct the field's name in spec.patches")
	if !conditions.IsTrue(view, meta.StalledCondition) {
		t.Errorf("it isn't Stalled: %v", view.Status.Conditions)
	}
	if available := f.deployment().Status.AvailableReplicas; available != 1 {
		t.Errorf("%d replicas serve", available)
	}
	update(f, &v1.MarkdownView{}, "docs", func(v *v1.MarkdownView) { v.Spec.Patches = nil })
	f.ready("docs")
}

// TestAWebhookThatFightsAPatch shows that there is no loop.
func TestAWebhookThatFightsAPatch(t *testing.T) {
	f := newFixture(t)
	defer f.webhook(func(_ *http.Request, response *admissionv1.AdmissionResponse) {
		patchType := admissionv1.PatchTypeJSONPatch
		response.PatchType = &patchType
		response.Patch = []byte(`[{"op": "add", "path": "/spec/minReadySeconds", "value": 2}]`)
	})()
	f.inForce("changed", func(d *appsv1.Deployment) bool { return d.Spec.MinReadySeconds == 2 })
	since := f.mark()
	f.create(f.patchedView())
	f.ready("docs")
	update(f, &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Tolerations = nil })
	f.eventually("the tolerations", func() string {
		if len(f.deployment().Spec.Template.Spec.Tolerations) == 0 {
			return "they are gone"
		}
		return ""
	})
	f.caughtUp()
	f.ready("docs")
	f.atMost(12, since)
}
