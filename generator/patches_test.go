package generator

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// patchedView is a book of one page with patches.
func patchedView(patches ...v1.Patch) *v1.MarkdownView {
	view := newView("docs", withPages(map[string]string{"a.md": "# A\n"}))
	view.Spec.Patches = patches
	return view
}

// of is a patch of all objects of a kind.
func of(kind, text string) v1.Patch {
	return v1.Patch{Patch: text, Target: &v1.PatchTarget{Kind: kind}}
}

// faults returns what is wrong with a view.
func faults(t *testing.T, view *v1.MarkdownView) []string {
	t.Helper()
	_, err := Generate(view, nil)
	var invalid *InvalidError
	if err != nil && !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	var list []string
	if invalid != nil {
		for _, p := range invalid.Problems {
			list = append(list, p.String())
		}
	}
	return list
}

func TestPatchesAreAppliedInOrder(t *testing.T) {
	output := mustGenerate(t, patchedView(
		of("Deployment", "spec: {minReadySeconds: 5}"),
		of("Deployment", "- {op: test, path: /spec/minReadySeconds, value: 5}\n- {op: replace, path: /spec/minReadySeconds, value: 7}"),
		v1.Patch{Patch: "kind: Service\nmetadata: {name: viewer-docs, annotations: {a: b}}\nspec: {type: NodePort}"},
		v1.Patch{Patch: "metadata: {labels: {team: docs}}", Target: &v1.PatchTarget{Kind: "ConfigMap", Name: `markdowns-.*`}},
	))
	if got := output.Deployment.Spec.MinReadySeconds; got == nil || *got != 7 {
		t.Errorf("minReadySeconds is %v", got)
	}
	if got := output.Service.Spec.Type; *got != "NodePort" || output.Service.Annotations["a"] != "b" {
		t.Errorf("the Service is of type %v, with the annotations %v", *got, output.Service.Annotations)
	}
	if got := output.ConfigMaps[0]; got.Labels["team"] != "docs" || got.Data["a.md"] != "# A\n" {
		t.Errorf("the ConfigMap has the labels %v and the pages %v", got.Labels, got.Data)
	}
	objects := output.Objects()
	for i, patched := range []bool{false, true, true} {
		if _, ok := objects[i].(map[string]any); ok != patched {
			t.Errorf("object %d is a %T", i, objects[i])
		}
	}
	// What is compared is what is printed.
	known, err := kruntime.DefaultUnstructuredConverter.ToUnstructured(output.Deployment)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(output.PatchedDeployment, known); diff != "" {
		t.Error(diff)
	}
}

func TestPatchesCannotBreakWhatAViewPromises(t *testing.T) {
	const container = "spec:\n  template:\n    spec:\n      containers:\n      - name: mdbook\n"
	tests := map[string]struct {
		kind, patch string
		want        string
	}{
		"the kind":      {"Service", "- {op: replace, path: /kind, value: Ingress}", "Service viewer-docs: a patch can't change its kind"},
		"the version":   {"Deployment", "- {op: replace, path: /apiVersion, value: apps/v2}", "Deployment viewer-docs: a patch can't change its apiVersion"},
		"the name":      {"Deployment", "- {op: replace, path: /metadata/name, value: a}", "Deployment viewer-docs: a patch can't change its metadata.name"},
		"the namespace": {"ConfigMap", "- {op: add, path: /metadata/namespace, value: a}", "ConfigMap markdowns-docs: a patch can't change its metadata.namespace"},
		"the owner":     {"Service", "metadata: {ownerReferences: []}", "Service viewer-docs: a patch can't change its metadata.ownerReferences"},
		"a finalizer":   {"ConfigMap", "metadata: {finalizers: [a/b]}", "ConfigMap markdowns-docs: a patch can't change its metadata.finalizers"},
		"a status":      {"Service", "status: {loadBalancer: {}}", "Service viewer-docs: a patch can't set its status"},
		"one of our labels": {"Deployment", "metadata: {labels: {app.kubernetes.io/name: a}}",
			"Deployment viewer-docs: a patch can't change the key app.kubernetes.io/name of its metadata.labels, which is reserved"},
		"one of Flux's labels of the pods": {"Deployment", "spec: {template: {metadata: {labels: {kustomize.toolkit.fluxcd.io/name: a}}}}",
			"Deployment viewer-docs: a patch can't change the key kustomize.toolkit.fluxcd.io/name of its spec.template.metadata.labels, which is reserved"},
		"all labels": {"ConfigMap", "- {op: remove, path: /metadata/labels}",
			"ConfigMap markdowns-docs: a patch can't change the key app.kubernetes.io/created-by of its metadata.labels, which is reserved"},
		"one of our labels of the pods": {"Deployment", "- {op: remove, path: /spec/template/metadata/labels/app.kubernetes.io~1instance}",
			"Deployment viewer-docs: a patch can't change the key app.kubernetes.io/instance of its spec.template.metadata.labels, which is reserved"},
		"the revision": {"Deployment", "spec: {template: {metadata: {annotations: {view.zoetrope.github.io/revision: a}}}}",
			"Deployment viewer-docs: a patch can't change the key view.zoetrope.github.io/revision of its spec.template.metadata.annotations, which is reserved"},
		"an annotation with which kustomize drops objects": {"Service", "metadata: {annotations: {config.kubernetes.io/local-config: 'true'}}",
			"Service viewer-docs: a patch can't change the key config.kubernetes.io/local-config of its metadata.annotations, which is reserved"},
		"the Deployment's selector": {"Deployment", "spec: {selector: {matchLabels: {a: b}}}", "Deployment viewer-docs: a patch can't change its spec.selector, which finds the view's pods"},
		"the Service's selector":    {"Service", "spec: {selector: null}", "Service viewer-docs: a patch can't change its spec.selector, which finds the view's pods"},
		"the pages' volume": {"Deployment", "spec: {template: {spec: {volumes: [{name: markdowns, configMap: {name: other}}]}}}",
			"Deployment viewer-docs: a patch can't change the pods' volume markdowns, which holds the pages"},
		"the items of the pages' volume": {"Deployment", "- {op: remove, path: /spec/template/spec/volumes/0/configMap/items/0}",
			"Deployment viewer-docs: a patch can't change the pods' volume markdowns, which holds the pages"},
		"all volumes": {"Deployment", "spec: {template: {spec: {volumes: [{$patch: delete}]}}}",
			"Deployment viewer-docs: a patch can't change the pods' volume markdowns, which holds the pages"},
		"the container": {"Deployment", "spec: {template: {spec: {containers: [{name: mdbook, $patch: delete}]}}}",
			"Deployment viewer-docs: a patch can't remove or rename the container mdbook, which serves the pages, nor add another of its name"},
		"the container's name": {"Deployment", "- {op: replace, path: /spec/template/spec/containers/0/name, value: a}",
			"Deployment viewer-docs: a patch can't remove or rename the container mdbook, which serves the pages, nor add another of its name"},
		"the pages' mount": {"Deployment", container + "        volumeMounts: [{mountPath: /book/src, name: build}]",
			"Deployment viewer-docs: a patch can't change what the container mdbook mounts at /book and below, which is the pages"},
		"a mount that hides a page": {"Deployment", container + "        volumeMounts: [{mountPath: /x/../book/src/a.md, name: build}]",
			"Deployment viewer-docs: a patch can't change what the container mdbook mounts at /book and below, which is the pages"},
		"the folder that it works in": {"Deployment", container + "        workingDir: /tmp",
			"Deployment viewer-docs: a patch can't change workingDir of the container mdbook, which is where the pages are"},
		"the readiness probe": {"Deployment", container + "        readinessProbe: null",
			"Deployment viewer-docs: a patch can't remove readinessProbe of the container mdbook, which tells when it serves the pages"},
		"a port that nobody has": {"Service", "- {op: replace, path: /spec/ports/0/targetPort, value: web}",
			"Service viewer-docs leads to port web, which no container of Deployment viewer-docs declares: set the Service's targetPort to one that is, or add the port to the container"},
		"pages": {"ConfigMap", "data: {a.md: b}",
			"ConfigMap markdowns-docs: a patch can't change, test or copy its pages: change them in spec.markdowns or where contentFrom takes them from"},
		"pages, to nothing": {"ConfigMap", "data: null",
			"ConfigMap markdowns-docs: a patch can't change, test or copy its pages: change them in spec.markdowns or where contentFrom takes them from"},
		"a copy of a page": {"ConfigMap", "- {op: copy, from: /data/a.md, path: /metadata/labels/a}",
			"ConfigMap markdowns-docs: a patch can't change, test or copy its pages: change them in spec.markdowns or where contentFrom takes them from"},
		"immutable": {"ConfigMap", "immutable: true",
			"ConfigMap markdowns-docs: a patch can't change, test or copy its pages: change them in spec.markdowns or where contentFrom takes them from"},
		"binary pages, as an operation":       {"ConfigMap", "- {op: add, path: /binaryData, value: {}}", "ConfigMap markdowns-docs: a patch can't change, test or copy its pages: change them in spec.markdowns or where contentFrom takes them from"},
		"binary pages":                        {"ConfigMap", "binaryData: {a.png: aaaa}", "ConfigMap markdowns-docs: a patch can't change, test or copy its pages: change them in spec.markdowns or where contentFrom takes them from"},
		"immutable, as an operation":          {"ConfigMap", "- {op: add, path: /immutable, value: true}", "ConfigMap markdowns-docs: a patch can't change, test or copy its pages: change them in spec.markdowns or where contentFrom takes them from"},
		"all of a ConfigMap, as an operation": {"ConfigMap", "- {op: test, path: '', value: {}}", "ConfigMap markdowns-docs: a patch can't change, test or copy its pages: change them in spec.markdowns or where contentFrom takes them from"},
		"all of a ConfigMap":                  {"ConfigMap", "$patch: replace", "ConfigMap markdowns-docs: a patch can't change, test or copy its pages: change them in spec.markdowns or where contentFrom takes them from"},
		"what is kept of a ConfigMap":         {"ConfigMap", "$retainKeys: [metadata]", "ConfigMap markdowns-docs: a patch can't change, test or copy its pages: change them in spec.markdowns or where contentFrom takes them from"},
		"a mount that hides the book":         {"Deployment", container + "        volumeMounts: [{mountPath: /book, name: build}]", "Deployment viewer-docs: a patch can't change what the container mdbook mounts at /book and below, which is the pages"},
		"a mount that hides everything":       {"Deployment", container + "        volumeMounts: [{mountPath: /, name: build}]", "Deployment viewer-docs: a patch can't change what the container mdbook mounts at /book and below, which is the pages"},
		"a mount of the pages elsewhere":      {"Deployment", container + "        volumeMounts: [{mountPath: /pages, name: markdowns}]", "Deployment viewer-docs: a patch can't change what the container mdbook mounts at /book and below, which is the pages"},
		"another container of the name": {"Deployment", "- {op: add, path: /spec/template/spec/containers/-, value: {name: mdbook, image: a}}",
			"Deployment viewer-docs: a patch can't remove or rename the container mdbook, which serves the pages, nor add another of its name"},
		"one of Flux's labels": {"Service", "metadata: {labels: {helm.toolkit.fluxcd.io/name: a}}",
			"Service viewer-docs: a patch can't change the key helm.toolkit.fluxcd.io/name of its metadata.labels, which is reserved"},
		"other fields of a ConfigMap": {"ConfigMap", "spec: {}", "ConfigMap markdowns-docs: a patch can change its labels and annotations only, not spec"},
		"the whole object, replaced by a merge": {"Service", "$patch: replace\nspec: {type: NodePort}",
			"Service viewer-docs: $patch: replace has no effect on the whole object, and drops the patch, in kustomize, too: write it into the field that is to be replaced"},
		"a number in a ConfigMap's annotations": {"ConfigMap", "metadata: {annotations: {a: 5}}", `ConfigMap markdowns-docs: what the patch makes of it can't be: metadata.annotations.a has to be a string, not the number 5`},
		"the whole object":                      {"Service", "$patch: delete", "Service viewer-docs: deletes the object, which the view needs: to serve nothing, set spec.replicas to 0"},
		"the whole object, replaced":            {"Service", "- {op: replace, path: '', value: {}}", "Service viewer-docs: deletes the object, which the view needs: to serve nothing, set spec.replicas to 0"},
		"a port that leads to itself, which nobody has": {"Service", "- {op: add, path: /spec/ports/0/targetPort, value: 0}",
			"Service viewer-docs leads to port 80, which no container of Deployment viewer-docs declares: set the Service's targetPort to one that is, or add the port to the container"},
		"a container without an image": {"Deployment", "spec: {template: {spec: {containers: [{name: viewer, workingDir: /a}]}}}",
			"Deployment viewer-docs lacks spec.template.spec.containers[0].image: if no other container is meant than the one that serves the pages, name it mdbook"},
		"an init container without a name": {"Deployment", "- {op: add, path: /spec/template/spec/initContainers, value: [{image: a}]}",
			"Deployment viewer-docs lacks spec.template.spec.initContainers[0].name: if no other container is meant than the one that serves the pages, name it mdbook"},
		"a word for a number":        {"Deployment", "spec: {replicas: two}", `Deployment viewer-docs: what the patch makes of it can't be: spec.replicas has to be a number, not the string "two"`},
		"a string of a number":       {"Deployment", "spec: {replicas: '2'}", `Deployment viewer-docs: what the patch makes of it can't be: spec.replicas has to be a number, not the string "2"`},
		"a number for a string":      {"Deployment", container + "        env: [{name: A, value: 1}]", `Deployment viewer-docs: what the patch makes of it can't be: spec.template.spec.containers[0].env[0].value has to be a string, not the number 1`},
		"a word for a boolean":       {"Deployment", "spec: {paused: 'yes'}", `Deployment viewer-docs: what the patch makes of it can't be: spec.paused has to be true or false, not the string "yes"`},
		"a map for a list":           {"Service", "spec: {externalIPs: {a: b}}", `Service viewer-docs: what the patch makes of it can't be: spec.externalIPs has to be a list, not the map {"a":"b"}`},
		"a list for a map":           {"Service", "metadata: {annotations: [a]}", "Service viewer-docs: metadata.annotations has to be a map"},
		"a number in annotations":    {"Service", "metadata: {annotations: {a: 1}}", `Service viewer-docs: what the patch makes of it can't be: metadata.annotations.a has to be a string, not the number 1`},
		"no quantity":                {"Deployment", container + "        resources: {limits: {memory: much}}", `Deployment viewer-docs: what the patch makes of it can't be: spec.template.spec.containers[0].resources.limits.memory can't be "much": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`},
		"a number that is too large": {"Deployment", "spec: {replicas: 3000000000}", `Deployment viewer-docs: what the patch makes of it can't be: spec.replicas has to be a number, not the number 3000000000`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			at := "spec.patches[0]: "
			if !strings.HasPrefix(test.want, test.kind+" viewer-docs:") && !strings.HasPrefix(test.want, "ConfigMap ") {
				at = "spec.patches: " // it is what all of them make of the object
			}
			if diff := cmp.Diff([]string{at + test.want}, faults(t, patchedView(of(test.kind, test.patch)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPatchesThatCannotBeApplied(t *testing.T) {
	objects := "there are ConfigMap markdowns-docs, Deployment viewer-docs, Service viewer-docs"
	tests := map[string]struct {
		patch v1.Patch
		want  string
	}{
		"no YAML":       {of("Service", "a: ["), "the patch can't be read: yaml: line 1: did not find expected node content"},
		"a word":        {of("Service", "spec"), "the patch is neither a map, which would be a strategic merge patch, nor a list of operations, which would be a JSON patch"},
		"comments only": {of("Service", "# spec: {}"), "the patch is empty: write a strategic merge patch or a JSON patch, or drop the entry"},
		"no operations": {of("Service", "[]"), "the patch is empty: write a strategic merge patch or a JSON patch, or drop the entry"},
		"YAML's own lists": {of("Service", "[{op: remove, path: /spec/type}]"),
			"the patch can't be read: what begins with [ has to be JSON: invalid character 'o' looking for beginning of object key string"},
		"no such path":       {of("Service", "- {op: remove, path: /spec/x}"), "Service viewer-docs: doesn't apply: error in remove for path: '/spec/x': Unable to remove nonexistent key: x: missing value"},
		"no such operation":  {of("Service", "- {op: merge, path: /spec}"), "the patch has a bad operation, the one at index 0: op has to be add, remove, replace, move, copy or test"},
		"a test that fails":  {of("Service", "- {op: test, path: /spec/type, value: x}"), "Service viewer-docs: doesn't apply: testing value /spec/type failed: test failed"},
		"an index too large": {of("Deployment", "- {op: add, path: /spec/template/spec/containers/99999999999999999999, value: {}}"), "?"},
		"no target":          {v1.Patch{Patch: "spec: {}"}, "the patch has no target: set target.kind to one of ConfigMap, Deployment, Service, or kind and metadata.name in the patch"},
		"operations without a target": {v1.Patch{Patch: "- {op: remove, path: /spec/type}"},
			"a JSON patch needs a target: set target.kind to one of ConfigMap, Deployment, Service"},
		"no object of the name": {v1.Patch{Patch: "spec: {}", Target: &v1.PatchTarget{Kind: "Service", Name: "viewer"}}, "there is no Service viewer to patch: " + objects},
		"no object of its own name": {v1.Patch{Patch: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}"},
			"there is no v1 Pod a to patch: " + objects},
		"documents with a target": {of("Service", "spec: {}\n---\nspec: {type: NodePort}"),
			"the patch holds 2 documents, which can't have a target: make each an entry of its own, or name kind and name in each and drop the target"},
		"documents of operations": {of("Service", "- {op: remove, path: /a}\n---\n- {op: remove, path: /b}"),
			"the patch a JSON patch is one document: put its operations into one list"},
		"a key twice":                         {of("Service", "spec: {sessionAffinityConfig: {a: 1, a: 2}}"), `the patch has the key "a" twice in one map: drop one of them`},
		"a field twice":                       {of("Service", "spec: {type: NodePort}\nmetadata: {}\nspec: {clusterIP: None}"), `the patch has the key "spec" twice in one map: drop one of them`},
		"a key of an operation twice":         {of("Service", "- {op: remove, path: /spec/type, path: /spec/x}"), `the patch has the key "path" twice in one map: drop one of them`},
		"a key of an operation in JSON twice": {of("Service", `[{"op": "add", "path": "/spec/x", "value": [1, {"b": {}, "a": 1, "a": 2}]}]`), `the patch has the key "a" twice in one map: drop one of them`},
		"a key of a map in JSON twice":        {of("Service", `{"spec": {"type": "NodePort", "type": "ClusterIP"}}`), `the patch has the key "type" twice in one map: drop one of them`},
		"null in a list":                      {of("Deployment", "spec: {template: {spec: {tolerations: [null]}}}"), "Deployment viewer-docs: puts null into a list: write what is meant, or drop the element"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := faults(t, patchedView(test.patch))
			if len(got) == 1 && test.want == "?" {
				t.Logf("%s", got[0])
				return
			}
			if diff := cmp.Diff([]string{"spec.patches[0]: " + test.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFaultyPatchesAreListedBesideOtherFaults(t *testing.T) {
	view := patchedView(of("Service", "a: ["), of("Service", "spec: {}"), of("Deployment", "[x"))
	view.Spec.Markdowns["SUMMARY.md"] = "- [B](b.md)\n"
	var fields []string
	for _, fault := range faults(t, view) {
		field, _, _ := strings.Cut(fault, ":")
		fields = append(fields, field)
	}
	if diff := cmp.Diff([]string{"spec.markdowns", "spec.patches[0]", "spec.patches[2]"}, fields); diff != "" {
		t.Error(diff)
	}
}

// Hostile patches are an error within a second, whatever they ask for.
func TestHostilePatches(t *testing.T) {
	aliases := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 12 {
		aliases += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	copies := "- {op: add, path: /metadata/annotations, value: {a: b}}\n"
	for i := range 60 {
		copies += fmt.Sprintf("- {op: copy, from: /metadata, path: /metadata/annotations/c%d}\n", i)
	}
	named := func(field, entry string) string {
		var b strings.Builder
		b.WriteString(field)
		for i := 0; b.Len() < 32000; i++ {
			fmt.Fprintf(&b, entry, i)
		}
		return b.String()
	}
	tests := map[string]v1.Patch{
		"aliases of aliases":         of("Deployment", aliases),
		"an anchor of itself":        of("Deployment", "spec: &a {b: *a}"),
		"a merge key of itself":      of("Deployment", "spec: &a\n  <<: *a"),
		"copies of copies":           of("Deployment", copies),
		"deep maps":                  of("Deployment", strings.Repeat("{a: ", 6000)),
		"deep maps that are closed":  of("Deployment", strings.Repeat("{a: ", 6000)+"1"+strings.Repeat("}", 6000)),
		"deep lists":                 of("Deployment", "spec: "+strings.Repeat("[", 15000)+strings.Repeat("]", 15000)),
		"deep lists in blocks":       of("Deployment", strings.Repeat("- ", 15000)),
		"deep JSON":                  of("Deployment", `[{"op":"add","path":"/spec/x","value":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`}]`),
		"deep pointers":              of("Deployment", "- {op: remove, path: "+strings.Repeat("/spec", 6000)+"}"),
		"pointers of escapes":        of("Deployment", "- {op: remove, path: "+strings.Repeat("/~0~1", 6000)+"}"),
		"many operations":            of("Deployment", strings.Repeat("- {op: add, path: /spec/x, value: 1}\n", 800)+"- {op: remove, path: /y}"),
		"many tests":                 of("Deployment", strings.Repeat("- {op: test, path: /kind, value: Deployment}\n", 700)+"- {op: remove, path: /y}"),
		"many environment variables": of("Deployment", named("spec:\n  template:\n    spec:\n      containers:\n      - name: a\n      - name: mdbook\n        workingDir: /\n        env:\n", "        - {name: a%d}\n")),
		"many ports":                 of("Deployment", named("spec:\n  template:\n    spec:\n      containers:\n      - name: mdbook\n        workingDir: /\n        ports:\n", "        - {containerPort: %d}\n")),
		"many keys":                  of("Deployment", named("kind: x\nmetadata: {finalizers: []}\n", "k%d: {}\n")),
		"many documents":             {Patch: strings.Repeat("kind: Service\n---\n", 1700)},
		"an unknown tag":             of("Deployment", "spec: !!js/function {replicas: !x 1}"),
		"binary":                     of("Deployment", "spec: {replicas: !!binary aaaa}"),
		"not a number":               of("Deployment", "spec: {replicas: .nan}"),
		"a key that is a list":       of("Deployment", "? [a]\n: b"),
		"a NUL":                      of("Deployment", "spec: \x00"),
		"no UTF-8":                   of("Deployment", "spec: \xff\xfe"),
		"a List":                     {Patch: "kind: List\nitems:\n- kind: List\n  items: [1, null, {}]"},
		"a ResourceList":             of("Deployment", "kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems: [null]\nfunctionConfig: 1"),
		"annotations of kyaml's":     of("Deployment", "metadata: {annotations: {internal.config.kubernetes.io/path: /etc/passwd, config.kubernetes.io/index: '1'}}"),
		"metadata that is none":      of("Deployment", "metadata: x"),
		"lists for maps":             of("Deployment", "spec: [{template: []}]"),
		"maps for lists":             of("Deployment", "spec: {template: {spec: {containers: {mdbook: {}}, volumes: x}}}"),
		"directives for all":         of("Deployment", "spec: {$patch: explode}"),
	}
	for name, p := range tests {
		t.Run(name, func(t *testing.T) {
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			got := faults(t, patchedView(p))
			if len(got) == 0 {
				t.Error("no fault")
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("it took %s", took)
			}
			var after runtime.MemStats
			runtime.ReadMemStats(&after)
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 256<<20 {
				t.Errorf("%d MiB were allocated", allocated>>20)
			}
			t.Logf("%.300s", got)
		})
	}
}
