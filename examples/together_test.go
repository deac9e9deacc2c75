package examples

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// metadataView has labels and a patch of its own.
func metadataView(name string) string {
	return inlineView(name, "page") + "  commonMetadata:\n    labels: {team: docs, tier: book}\n    annotations: {owner: docs}\n" +
		"  patches:\n  - target: {kind: Deployment}\n    patch: |\n      spec: {template: {spec: {tolerations: [{key: docs, operator: Exists}]}}}\n"
}

// TestLabelsOfKustomizationsBesideThoseOfAView: kustomize comes later and wins, and what
// finds pods goes on finding them.
func TestLabelsOfKustomizationsBesideThoseOfAView(t *testing.T) {
	generator := strings.Replace(metadataView("hb"), "metadata:\n", "metadata:\n  "+fnAnnotation+"\n", 1)
	generated := files{"base/view.yaml": generator, "base/kustomization.yaml": "generators: [view.yaml]\n"}
	transformed := files{"base/view.yaml": metadataView("hb"), "base/kustomization.yaml": "resources: [view.yaml]\n" + expanding}
	for name, test := range map[string]struct {
		overlay string
		want    map[string]string
		// pods means that the labels reach the pods, and selected that they are selected by.
		pods, selected bool
	}{
		"commonLabels":                {"commonLabels: {team: other, env: dev}\n", map[string]string{"team": "other", "env": "dev", "tier": "book"}, true, true},
		"labels":                      {"labels: [{pairs: {team: other, env: dev}}]\n", map[string]string{"team": "other", "env": "dev", "tier": "book"}, false, false},
		"labels with templates":       {"labels: [{pairs: {team: other}, includeTemplates: true}]\n", map[string]string{"team": "other", "tier": "book"}, true, false},
		"labels with selectors":       {"labels: [{pairs: {team: other}, includeSelectors: true}]\n", map[string]string{"team": "other", "tier": "book"}, true, true},
		"a prefix and commonLabels":   {"namePrefix: x-\ncommonLabels: {team: other}\n", map[string]string{"team": "other", "tier": "book"}, true, true},
		"annotations, labels as they": {"commonAnnotations: {owner: other}\n", map[string]string{"team": "docs", "tier": "book"}, true, false},
	} {
		for way, base := range map[string]files{"generator": generated, "transformer": transformed} {
			t.Run(name+" over a "+way, func(t *testing.T) {
				t.Parallel()
				dir := base.with(kustomization("resources: [base]\n" + test.overlay)).write(t)
				got := build(t, dir, ".") // of commonLabels kustomize says that they are deprecated
				if got.failed {
					t.Fatal(got.stderr)
				}
				objects := parse(t, got.stdout)
				deployment, service := objects.deployments[0], objects.services[0]
				pods := deployment.Spec.Template
				for key, value := range test.want {
					if deployment.Labels[key] != value || service.Labels[key] != value || test.pods && pods.Labels[key] != value {
						t.Errorf("%s isn't %s: %v, %v, %v", key, value, deployment.Labels, service.Labels, pods.Labels)
					}
				}
				if _, there := service.Spec.Selector["team"]; there != test.selected {
					t.Errorf("the Service selects by %v", service.Spec.Selector)
				}
				selectsItsPods(t, objects)
				if len(pods.Spec.Tolerations) != 1 {
					t.Errorf("the patch is lost: %+v", pods.Spec)
				}
			})
		}
	}
}

// TestTheRecipesHoldUnderAPrefix has each view of docs/customize.md expanded with another
// name than it has there.
func TestTheRecipesHoldUnderAPrefix(t *testing.T) {
	text, err := os.ReadFile("../docs/customize.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n## ([^\n]*)\n.*?\n```yaml\n(.*?)\n```\n").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 12 {
		t.Fatalf("there are %d", len(blocks))
	}
	const pages = "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: handbook-pages}\ndata: {SUMMARY.md: '- [A](a.md)', a.md: A}\n"
	for _, block := range blocks {
		t.Run(block[1], func(t *testing.T) {
			t.Parallel()
			view, _, _ := strings.Cut(block[2], "\n---\n") // what stands beside it names it as it is deployed
			dir := files{"view.yaml": view + pages}.with(kustomization("namePrefix: dev-\nresources: [view.yaml]\n" + expanding)).write(t)
			selectsItsPods(t, parse(t, buildQuietly(t, dir)))
		})
	}
}

// selectsItsPods fails unless the pods of a Deployment are selected by all that is to find
// them.
func selectsItsPods(t *testing.T, objects rendered) {
	t.Helper()
	deployment := objects.deployments[0]
	pods := deployment.Spec.Template
	check := func(what string, selector map[string]string) {
		t.Helper()
		if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(pods.Labels)) {
			t.Errorf("%s selects %v, the pods have %v", what, selector, pods.Labels)
		}
	}
	check("the Service", objects.services[0].Spec.Selector)
	check("the Deployment", deployment.Spec.Selector.MatchLabels)
	for _, constraint := range pods.Spec.TopologySpreadConstraints {
		check("the constraint of "+constraint.TopologyKey, constraint.LabelSelector.MatchLabels)
		countsOneView(t, constraint, pods.Labels)
	}
}

// countsOneView fails if a constraint would count the pods of other views, too.
func countsOneView(t *testing.T, constraint corev1.TopologySpreadConstraint, podLabels map[string]string) {
	t.Helper()
	others := maps.Clone(podLabels)
	others["app.kubernetes.io/instance"] = "another"
	if slices.Contains(constraint.MatchLabelKeys, "app.kubernetes.io/instance") {
		return
	}
	if labels.SelectorFromSet(constraint.LabelSelector.MatchLabels).Matches(labels.Set(others)) {
		t.Errorf("the constraint of %s counts the pods of any view", constraint.TopologyKey)
	}
}
