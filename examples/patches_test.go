package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"
)

// viewer is the start of a patch of the Deployment's container.
const viewer = "spec:\n  template:\n    spec:\n      containers:\n      - name: mdbook\n"

// patches give the same objects in a view as in a kustomization over what the function
// prints for the view without them.
var patches = map[string]struct {
	kind  string // Deployment if empty; "none" for no target
	patch string
	// expect is part of what comes of it.
	expect string
}{
	"a field that isn't there":          {patch: "spec: {minReadySeconds: 5}", expect: "minReadySeconds: 5"},
	"a field that is there":             {patch: "spec:\n  template:\n    spec: {terminationGracePeriodSeconds: 30}", expect: "terminationGracePeriodSeconds: 30"},
	"a list without a merge key":        {patch: "spec:\n  template:\n    spec:\n      tolerations: [{key: docs, operator: Exists}]", expect: "key: docs"},
	"a container by its name":           {patch: viewer + "        image: registry.example.com/mdbook:1", expect: "image: registry.example.com/mdbook:1"},
	"a container beside it comes first": {patch: "spec:\n  template:\n    spec:\n      containers:\n      - {name: proxy, image: proxy}", expect: "name: proxy"},
	"ports have two merge keys":         {patch: viewer + "        ports: [{containerPort: 3000, protocol: TCP, hostPort: 8080}, {containerPort: 3000, protocol: UDP, name: quic}]", expect: "hostPort: 8080"},
	// kustomize takes it for the same port, and then loses it.
	"a port without its protocol":        {patch: viewer + "        ports: [{containerPort: 3000, hostPort: 8080}]", expect: "containerPort: 3000"},
	"environment variables":              {patch: viewer + "        env: [{name: MDBOOK_OUTPUT__HTML__SITE_URL, value: /docs/}]", expect: "/docs/"},
	"arguments are replaced":             {patch: viewer + "        args: [serve, --hostname, '[::]']", expect: "'[::]'"},
	"$patch: delete of a list's entry":   {patch: viewer + "        env: [{name: MDBOOK_BUILD__CREATE_MISSING, $patch: delete}]", expect: "MDBOOK_BUILD__BUILD_DIR"},
	"$patch: delete of a map":            {patch: viewer + "        lifecycle: {$patch: delete}", expect: "livenessProbe"},
	"$patch: replace of a map":           {patch: viewer + "        resources: {$patch: replace, limits: {memory: 1Gi}}", expect: "memory: 1Gi"},
	"$patch: replace of a list":          {patch: viewer + "        env: [{name: MDBOOK_BUILD__BUILD_DIR, value: /build/book}, {$patch: replace}]", expect: "MDBOOK_BUILD__BUILD_DIR"},
	"$retainKeys":                        {patch: "spec:\n  strategy:\n    $retainKeys: [type]\n    type: Recreate", expect: "type: Recreate"},
	"$setElementOrder":                   {patch: "spec:\n  template:\n    spec:\n      $setElementOrder/containers: [{name: mdbook}, {name: proxy}]\n      containers: [{name: proxy, image: proxy}]", expect: "name: proxy"},
	"$deleteFromPrimitiveList":           {patch: viewer + "        $deleteFromPrimitiveList/args: [serve]", expect: "deleteFromPrimitiveList"},
	"null removes":                       {patch: viewer + "        lifecycle: null\n        livenessProbe:", expect: "readinessProbe"},
	"null of what isn't there":           {patch: "spec: {minReadySeconds: null, paused: ~}", expect: "replicas: 1"},
	"an empty map and an empty list":     {patch: "spec:\n  template:\n    spec: {nodeSelector: {}, tolerations: []}", expect: "mdbook"},
	"fields that client-go doesn't know": {patch: "spec: {future: {a: [1, 2.5, x]}, template: {spec: {futures: true}}}", expect: "futures: true"},
	"values of another spelling":         {patch: viewer + "        resources: {requests: {cpu: 0.5, memory: 0x1000}, limits: {memory: 1024Ki}}", expect: "cpu: 0.5"},
	"words of YAML 1.1":                  {patch: "metadata: {annotations: {a: 'yes', b: \"on\", c: '0644', d: '1e3', e: 'null', f: '2001-01-01', g: yes, h: 2001-01-01}}\nspec: {minReadySeconds: 0x10, revisionHistoryLimit: 010}", expect: "minReadySeconds: 16"},
	"a text of lines":                    {patch: "metadata:\n  annotations:\n    notes: |\n      one\n        two\n\n      three\n    folded: >-\n      one\n      two", expect: "three"},
	"anchors and aliases":                {patch: "metadata:\n  labels: &team {team: docs}\n  annotations: *team\nspec:\n  template:\n    metadata:\n      labels: *team", expect: "team: docs"},
	"a merge key": {
		patch: "metadata:\n  labels: &team {team: docs, tier: a}\n  annotations:\n    <<: *team\n    tier: b", expect: "tier: b",
	},
	"JSON":                             {patch: `{"spec": {"template": {"spec": {"priorityClassName": "low"}}}}`, expect: "priorityClassName: low"},
	"volumes merge, but for the pages": {patch: "spec:\n  template:\n    spec:\n      volumes: [{name: theme, configMap: {name: theme}}]", expect: "name: theme"},
	"topology spread by its two keys": {
		patch:  "spec:\n  template:\n    spec:\n      topologySpreadConstraints: [{topologyKey: topology.kubernetes.io/zone, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway}]",
		expect: "maxSkew: 2",
	},
	"the Service": {kind: "Service", patch: "spec: {type: LoadBalancer, ports: [{port: 80, protocol: TCP, nodePort: 30080}]}", expect: "nodePort: 30080"},
	"a Service's port beside": {
		kind: "Service", patch: "spec: {ports: [{port: 8080, name: alt, targetPort: 3000}]}", expect: "name: alt",
	},
	"a headless Service": {kind: "Service", patch: "spec: {clusterIP: None}", expect: "clusterIP: None"},
	"labels of ConfigMaps": {
		kind: "ConfigMap", patch: "metadata: {labels: {team: docs}, annotations: {a/b: c}}", expect: "team: docs",
	},
	"a document for each object": {
		kind: "none",
		patch: "apiVersion: v1\nkind: Service\nmetadata: {name: viewer-hb, labels: {a: s}}\n---\n" +
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: viewer-hb, labels: {a: d}}\n---\n" +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: markdowns-hb, labels: {a: c}}\n",
		expect: "a: s",
	},
	"operations": {
		patch:  "- {op: add, path: /spec/minReadySeconds, value: 5}\n- {op: replace, path: /spec/replicas, value: 3}\n- {op: remove, path: /spec/strategy}",
		expect: "minReadySeconds: 5",
	},
	"operations in JSON":       {patch: `[{"op": "add", "path": "/spec/template/spec/hostAliases", "value": [{"ip": "::1"}]}]`, expect: "hostAliases"},
	"escapes in pointers":      {patch: "- {op: add, path: /metadata/annotations, value: {}}\n- {op: add, path: /metadata/annotations/a~1b~0c, value: d}", expect: "a/b~c: d"},
	"the end of a list":        {patch: "- {op: add, path: /spec/template/spec/containers/0/args/-, value: --open}", expect: "--open"},
	"an index from the end":    {patch: "- {op: replace, path: /spec/template/spec/containers/0/args/-1, value: '::'}", expect: "'::'"},
	"a place in a list":        {patch: "- {op: add, path: /spec/template/spec/containers/0/env/1, value: {name: A, value: b}}", expect: "name: A"},
	"test, move and copy":      {patch: "- {op: test, path: /spec/replicas, value: 1}\n- {op: copy, from: /spec/replicas, path: /spec/minReadySeconds}\n- {op: move, from: /spec/minReadySeconds, path: /spec/revisionHistoryLimit}", expect: "revisionHistoryLimit: 1"},
	"a value that is null":     {patch: "- {op: add, path: /spec/paused, value: null}\n- {op: replace, path: /spec/strategy, value: ~}", expect: "replicas: 1"},
	"a number that is a float": {patch: "- {op: add, path: /spec/template/spec/containers/0/resources/requests/cpu, value: 0.25}", expect: "cpu: 0.25"},
	"aliases in operations":    {patch: "- {op: add, path: /metadata/labels/team, value: &v docs}\n- {op: add, path: /metadata/labels/tier, value: *v}", expect: "tier: docs"},
}

func TestPatchesOfViewsDoWhatKustomizesDo(t *testing.T) {
	base := function(t, patchedView("", ""))
	for name, test := range patches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := test.kind
			if kind == "" {
				kind = "Deployment"
			}
			got := byName(t, function(t, patchedView(kind, test.patch)))
			want := byName(t, kustomized(t, base, kind, test.patch))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-kustomize +view)\n%s", diff)
			}
			if !strings.Contains(want, test.expect) {
				t.Errorf("the patch didn't do what it is for: there is no %q", test.expect)
			}
		})
	}
}

// patchedView is a view with one patch of a kind's objects, or none.
func patchedView(kind, patch string) string {
	view := inlineView("hb", "# A\n")
	if patch == "" {
		return view
	}
	target := fmt.Sprintf("    target: {kind: %s}\n", kind)
	if kind == "none" {
		target = ""
	}
	return view + "  patches:\n  - patch: |\n" + indent(patch, "      ") + target
}

func indent(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(by + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

// function returns what fn prints for a view.
func function(t *testing.T, view string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "fn"), "-")
	cmd.Stdin = strings.NewReader(view)
	got := resultOf(t, cmd)
	for line := range strings.Lines(got.stderr) {
		got.failed = got.failed || !strings.Contains(line, ": spec.patches: unknown field ") // as some are meant to be
	}
	if got.failed {
		t.Fatalf("fn fails, or says something else than of unknown fields:\n%s", got.stderr)
	}
	return got.stdout
}

// kustomized has kustomize patch manifests. It wants a kind and a name also in a strategic
// merge patch with a target, and reads nothing into them.
func kustomized(t *testing.T, manifests, kind, patch string) string {
	t.Helper()
	if kind != "none" && !strings.HasPrefix(patch, "-") && !strings.HasPrefix(patch, "[") {
		var fields map[string]any
		if strings.HasPrefix(patch, "{") {
			patch = strings.Replace(patch, "{", `{"kind": "Any", "metadata": {"name": "any"}, `, 1)
		} else if err := sigsyaml.Unmarshal([]byte(patch), &fields); err == nil && fields["metadata"] != nil {
			patch = "kind: " + kind + "\n" + strings.Replace(strings.Replace(patch, "metadata:\n", "metadata:\n  name: any\n", 1), "metadata: {", "metadata: {name: any, ", 1)
		} else {
			patch = "kind: " + kind + "\nmetadata: {name: any}\n" + patch
		}
	}
	dir := t.TempDir()
	target := fmt.Sprintf("  target: {kind: %s}\n", kind)
	if kind == "none" {
		target = ""
	}
	for name, text := range map[string]string{
		"manifests.yaml":     manifests,
		"kustomization.yaml": "resources: [manifests.yaml]\npatches:\n- patch: |-\n" + indent(patch, "    ") + target,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := build(t, dir, ".")
	if got.failed {
		t.Fatalf("kustomize failed: %s", got.stderr)
	}
	return got.stdout
}

// byName reads manifests as kubectl does, and lists what it reads by kind and name. What is
// null isn't there.
func byName(t *testing.T, manifests string) string {
	t.Helper()
	objects := map[string]any{}
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		var object map[string]any
		if err := sigsyaml.Unmarshal([]byte(document+"\n"), &object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		dropNulls(object)
		metadata, _ := object["metadata"].(map[string]any)
		objects[fmt.Sprint(object["kind"], " ", metadata["name"])] = object
	}
	text, err := sigsyaml.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func dropNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			if field == nil {
				delete(value, key)
			}
			dropNulls(field)
		}
	case []any:
		for _, element := range value {
			dropNulls(element)
		}
	}
}
