package function

import (
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// messages returns what is printed of a view whose fields are these.
func messages(t *testing.T, fields string) string {
	t.Helper()
	view := "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: a}\n" + fields + "\n"
	var errOut strings.Builder
	if err := RunOnFiles(&Function{WorkingDirectory: fstest.MapFS{}}, []string{"-"}, strings.NewReader(view), io.Discard, &errOut); err != nil && !IsFault(err) {
		return err.Error()
	}
	return strings.TrimSuffix(strings.ReplaceAll(errOut.String(), "error: MarkdownView a (standard input): ", ""), "\n")
}

func TestFaultsSayWhatToWrite(t *testing.T) {
	const pages = `markdowns: {SUMMARY.md: "- [A](a.md)", a.md: ""}`
	const duration = "must be a duration such as 10m or 1h30m, not "
	const whole = "must be a whole number up to 2147483647, in digits only, not "
	spec := func(field string) string { return "spec: {" + pages + ", " + field + "}" }
	tests := map[string]struct{ fields, want string }{
		"a duration without a unit":           {spec("interval: 10"), "spec.interval: " + duration + "10"},
		"a quoted one without a unit":         {spec("interval: '10'"), "spec.interval: " + duration + `"10"`},
		"a duration in days":                  {spec("timeout: 1d"), "spec.timeout: " + duration + `"1d"`},
		"a duration with a space":             {spec("timeout: 10 m"), "spec.timeout: " + duration + `"10 m"`},
		"a duration that is true":             {spec("timeout: y"), "spec.timeout: " + duration + "y"},
		"a duration that is a map":            {spec("interval: {minutes: 10}"), "spec.interval: " + duration + "a map"},
		"a duration that is a list":           {spec("interval: [10m]"), "spec.interval: " + duration + "a list"},
		"a negative duration":                 {spec("interval: -5m"), `spec.interval: Invalid value: "-5m": must be at least 1s`},
		"one of hours":                        {spec("timeout: -10h"), `spec.timeout: Invalid value: "-10h": must be at least 1s`},
		"a short duration":                    {spec("timeout: 500ms"), `spec.timeout: Invalid value: "500ms": must be at least 1s`},
		"no duration":                         {spec("timeout: 0s"), `spec.timeout: Invalid value: "0s": must be at least 1s`},
		"a duration that is empty":            {spec("interval: ''"), "spec.interval: " + duration + `""`},
		"a number with a point":               {spec("replicas: 2.0"), "spec.replicas: " + whole + "2.0"},
		"a number with an exponent":           {spec("replicas: 1e3"), "spec.replicas: " + whole + "1e3"},
		"a number in quotes":                  {spec("replicas: '2'"), "spec.replicas: " + whole + `"2"`},
		"a number that is too large":          {spec("replicas: 0x100000000"), "spec.replicas: " + whole + "0x100000000"},
		"a number that is none":               {spec("replicas: .nan"), "spec.replicas: " + whole + ".nan"},
		"yes as a number":                     {spec("replicas: y"), "spec.replicas: " + whole + "y"},
		"a number as an image":                {spec("viewerImage: 0x10"), "spec.viewerImage: must be a string, not 0x10: put it in quotes"},
		"yes as an image":                     {spec("viewerImage: On"), "spec.viewerImage: must be a string, not On: put it in quotes"},
		"an octal number as an image":         {spec("viewerImage: 010"), "spec.viewerImage: must be a string, not 010: put it in quotes"},
		"a word as true":                      {spec("suspend: sometimes"), `spec.suspend: must be true or false, not "sometimes"`},
		"a key that is true to kubectl":       {"spec: {" + strings.Replace(pages, "}", ", on: ''}}", 1), "spec.markdowns.on: kubectl reads the key as true: put it in quotes"},
		"a key that is a number to kubectl":   {"spec: {" + strings.Replace(pages, "}", ", 010: ''}}", 1), "spec.markdowns.010: kubectl reads the key as 8: put it in quotes"},
		"a key that is null":                  {"spec: {" + strings.Replace(pages, "}", ", ~: ''}}", 1), "spec.markdowns.~: the key is null: put it in quotes"},
		"a key twice in a merged map":         {"spec: {<<: {" + strings.Replace(pages, "}", ", a.md: b}}}", 1), "spec.markdowns[a.md]: is there twice: drop one of them"},
		"a key twice in one of several":       {"spec: {<<: [{" + pages + "}, {replicas: 1, replicas: 2}]}", `document 1 can't be read: line 4: "replicas" is there twice in a map that is merged: drop one of them`},
		"a field that is indented too little": {"replicas: 2\nspec: {" + pages + "}", "replicas: unknown field: it belongs below spec: indent it"},
		"a field that is beside its list":     {spec("configMapRef: {name: a}"), "spec.configMapRef: unknown field: it belongs below contentFrom: indent it"},
		"a field after a no-break space":      {"spec:\n  " + pages[:9] + ": {SUMMARY.md: '- [A](a.md)', a.md: ''}\n  \u00a0replicas: 2", "spec.\u00a0replicas: unknown field: it holds the invisible character U+00A0: drop it, and indent with spaces"},
		"a field with a zero-width space":     {spec("\u200breplicas: 2"), "spec.\u200breplicas: unknown field: it holds the invisible character U+200B: drop it, and indent with spaces"},
		"a template that isn't filled in":     {spec("replicas: {{ .Values.replicas }}"), "spec.replicas: a key is a map: it must be a string; a template, such as {{ a }}, has to be filled in first"},
		"a tag of another tool":               {spec("replicas: !env REPLICAS"), "spec.replicas: the YAML tag !env is not known: drop it"},
		"no space after a colon":              {"status: {}\nspec: {" + pages + "}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name:b", `document 2 can't be read: metadata must be a map, not "name:b": put a space after the colon`},
		"a kind in upper case":                {"spec: {" + pages + "}\n---\napiVersion: v1\nKind: ConfigMap\nmetadata: {name: b}", `document 2 has no kind, but "Kind": write kind: MarkdownView, or kind: ConfigMap`},
		"an apiVersion in lower case":         {"spec: {" + pages + "}\n---\napiversion: v1\nkind: ConfigMap\nmetadata: {name: b}", `document 2 is a ConfigMap without an apiVersion, but "apiversion": use v1`},
		"two merge keys":                      {"spec: {" + pages + ", <<: {replicas: 1}, <<: {replicas: 2}}", "document 1 can't be read: line 4: the YAML merge key << is there twice: use one, with a list of the maps"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := messages(t, test.fields)
			if diff := cmp.Diff(test.want, strings.TrimPrefix(got, "standard input: ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSettingsAreReadWhollyOrNotAtAll(t *testing.T) {
	const view = "{apiVersion: view.zoetrope.github.io/v1, kind: MarkdownView, metadata: {name: a}, spec: {markdowns: {SUMMARY.md: '- [A](a.md)', a.md: ''}}}"
	tests := map[string]struct{ config, want string }{
		"beside data":     {"mode: Validate", "mode: unknown field"},
		"a list":          {"data: [mode]", "data: must be a map, not a list"},
		"a text":          {"data: 'mode: Validate'", `data: must be a map, not "mode: Validate"`},
		"a mode of true":  {"data: {mode: yes}", "data.mode: must be a string, not yes: put it in quotes"},
		"a mode twice":    {"data: {mode: Validate, mode: Expand}", "data.mode: is there twice: drop one of them"},
		"another setting": {"data: {Mode: Validate}", `data.Mode: unknown setting: did you mean "mode"?`},
		"a small letter":  {"data: {mode: validate}", `data.mode: "validate" is not known: use Expand or Validate`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := runIn(t, t.TempDir(), "kind: ResourceList\nitems: ["+view+"]\nfunctionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, "+test.config+"}\n")
			if diff := cmp.Diff("error: ConfigMap a: "+test.want+"\n", got.errOut); diff != "" {
				t.Error(diff)
			}
			if !strings.HasPrefix(got.out, "apiVersion: config.kubernetes.io/v1\n") {
				t.Errorf("the ResourceList is:\n%s", got.out)
			}
		})
	}
}

func TestPagesThatNoViewNamesAreReported(t *testing.T) {
	got := messages(t, "spec: {markdowns: {SUMMARY.md: '- [A](a.md)', a.md: ''}, contentFrom: [{configMapRef: {name: pages, optional: true}}]}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: page}")
	const want = "warning: ConfigMap page (standard input): metadata.name: no MarkdownView names it under contentFrom, so its pages aren't used"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsShownAsEmptyQuotes(t *testing.T) {
	got := runIn(t, t.TempDir(), "kind: ResourceList\nitems: []\nfunctionConfig: {metadata: {name: a}}\n")
	const want = "error: resource a: a functionConfig of apiVersion none and kind none is not known: use view.zoetrope.github.io/v1 MarkdownView, view.zoetrope.github.io/v1 MarkdownViewTransformer, or v1 ConfigMap\n"
	if diff := cmp.Diff(want, got.errOut); diff != "" {
		t.Error(diff)
	}
}

func TestAViewWithoutANameCanBeFound(t *testing.T) {
	const (
		spec     = "spec: {markdowns: {SUMMARY.md: '- [A](a.md)', a.md: ''}}"
		nameless = "{apiVersion: view.zoetrope.github.io/v1, kind: MarkdownView, " + spec + "}"
		required = "metadata.name: Required value: name the view: its objects are called markdowns-<name> and viewer-<name>"
	)
	document := func(at string) string {
		return "error: MarkdownView (standard input, " + at + "): " + required
	}
	got := messages(t, spec+"\n---\n"+nameless+"\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: ["+nameless+", "+nameless+"]}\n---\n"+
		"{apiVersion: v1, kind: ConfigMap, metadata: {}}")
	want := []string{document("document 2"), document("document 3: items[0].items[0]"), document("document 3: items[0].items[1]"),
		"warning: ConfigMap (standard input, document 4): metadata.name: no MarkdownView names it under contentFrom, so its pages aren't used"}
	if diff := cmp.Diff(want, strings.Split(got, "\n")); diff != "" {
		t.Errorf("in a file (-want +got):\n%s", diff)
	}

	list := runIn(t, t.TempDir(), "kind: ResourceList\nitems: ["+strings.Replace(nameless, "MarkdownView,", "MarkdownView, metadata: {name: a},", 1)+", "+nameless+", "+nameless+
		", {apiVersion: v1, kind: List, items: ["+nameless+"]}]\nfunctionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n")
	want = []string{"error: MarkdownView: items[1]." + required, "error: MarkdownView: items[2]." + required, "error: List: items[0]: MarkdownView isn't read inside a list: write it as a document of its own", ""}
	if diff := cmp.Diff(want, strings.Split(list.errOut, "\n")); diff != "" {
		t.Errorf("in a ResourceList (-want +got):\n%s", diff)
	}
}

// kpt passes the lists in a package's files as they are.
func TestListsAmongTheItemsHideNothing(t *testing.T) {
	const (
		head  = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\nitems:\n"
		view  = "{apiVersion: view.zoetrope.github.io/v1, kind: MarkdownView, metadata: {name: a}, spec: {markdowns: {SUMMARY.md: '- [A](a.md)', a.md: ''}, contentFrom: [{configMapRef: {name: pages, optional: true}}]}}"
		pages = "{apiVersion: v1, kind: ConfigMap, metadata: {name: pages}}"
	)
	tests := map[string]struct{ items, want string }{
		"a view in a List":              {"- {apiVersion: v1, kind: List, items: [" + view + "]}\n", "error: List: items[0]: MarkdownView a isn't read inside a list: write it as a document of its own\n"},
		"a view in a list of its type":  {"- {apiVersion: view.zoetrope.github.io/v1, kind: MarkdownViewList, items: [{metadata: {name: a}}]}\n", "error: MarkdownViewList: items[0]: MarkdownView a isn't read inside a list: write it as a document of its own\n"},
		"a view in a List in a List":    {"- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: [" + view + "]}]}\n", "error: List: items[0].items[0]: MarkdownView a isn't read inside a list: write it as a document of its own\n"},
		"pages that a view names":       {"- " + view + "\n- {apiVersion: v1, kind: List, items: [" + pages + "]}\n", "error: List: items[0]: ConfigMap pages isn't read inside a list: write it as a document of its own\n"},
		"pages that no view names":      {"- " + strings.Replace(view, "name: pages", "name: others", 1) + "\n- {apiVersion: v1, kind: List, items: [" + pages + "]}\n", ""},
		"a kind that ends in List only": {"- " + view + "\n- {apiVersion: example.com/v1, kind: AccessList, metadata: {name: a}, spec: {}}\n", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := runIn(t, t.TempDir(), head+test.items)
			if diff := cmp.Diff(test.want, got.errOut); diff != "" {
				t.Error(diff)
			}
		})
	}
}
