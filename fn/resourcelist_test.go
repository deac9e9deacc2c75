package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResourceListErrors(t *testing.T) {
	inFiles(t)
	const wanted = "error: standard input must hold a ResourceList of apiVersion config.kubernetes.io/v1, as kustomize and kpt write it"
	item := func(i int, why string) string {
		return fmt.Sprintf("error: standard input: items[%d] of the ResourceList can't be read: %s\n", i, why)
	}
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	tests := map[string]struct {
		in   string
		want string
	}{
		"nothing":            {"", wanted + ", but is empty\n"},
		"only comments":      {"# a\n---\n# b\n", wanted + ", but is empty\n"},
		"what is not YAML":   {"a: [\n", "error: standard input is not YAML: line 1: did not find expected node content\n"},
		"a word":             {"hello\n", wanted + ", not something else: it must be a map\n"},
		"a view":             {view, wanted + ", not a bare MarkdownView: to expand it by hand, run fn with its file name, or with - for standard input\n"},
		"another resource":   {pages, wanted + ", not resources of kind \"ConfigMap\"\n"},
		"several documents":  {files["both.yaml"], wanted + ", not a bare MarkdownView: to expand it by hand, run fn with its file name, or with - for standard input\n"},
		"a List":             {files["list.yaml"], wanted + ", not a List\n"},
		"a list of nothing":  {listHead, "error: standard input: the ResourceList has neither items nor functionConfig\n"},
		"two lists":          {listHead + "items: []\n---\n" + listHead + "items: []\n", wanted + ", in a single document: there are 2\n"},
		"a word as an item":  {listHead + "items: [{kind: A}, a]\n", item(1, "must be a map")},
		"a list as an item":  {listHead + "items: [[a, b, c]]\n", item(0, "must be a map")},
		"null as an item":    {listHead + "items: [null]\n", item(0, "must be a map")},
		"a map as items":     {listHead + "items: {a: b}\n", "error: standard input: items of the ResourceList must be a list, not a map\n"},
		"a list as version":  {listHead + "items: [{apiVersion: [v1]}]\n", item(0, "apiVersion must be a string")},
		"a list as metadata": {listHead + "items: [{metadata: [a]}]\n", item(0, "metadata must be a map, not a list")},
		"a map as a name":    {listHead + "items: [{metadata: {name: {a: b}}}]\n", item(0, "metadata.name must be a string")},
		"a list of labels":   {listHead + "items: [{metadata: {labels: [a]}}]\n", item(0, "metadata.labels must be a map, not a list")},
		"a map as a label":   {listHead + "items: [{metadata: {labels: {a.b/c: {}}}}]\n", item(0, "metadata.labels[a.b/c] must be a string")},
		"metadata twice":     {listHead + "items: [{metadata: {}, metadata: {}}]\n", item(0, "metadata is there twice: drop one of them")},
		"a name twice in a file": {listHead + "items: [{metadata: {annotations: {internal.config.kubernetes.io/path: a/b.yaml}, name: a, name: b}}]\n",
			"error: standard input: items[0] of the ResourceList (a/b.yaml) can't be read: metadata.name is there twice: drop one of them\n"},
		"a name twice":             {listHead + "items: [{metadata: {name: a, name: b}}]\n", item(0, "metadata.name is there twice: drop one of them")},
		"an endless anchor":        {listHead + "items: [{spec: &a [*a]}]\n", item(0, "a YAML anchor holds an alias of itself: write the value out")},
		"a merged list":            {listHead + "items: [{spec: &a [b], c: {<<: *a}}]\n", item(0, "the YAML merge key in line 3 needs a map")},
		"too many aliases":         {listHead + "items:\n- " + indent(bomb), item(0, "the YAML aliases stand for too much: write the values out")},
		"another version":          {"apiVersion: v1\nkind: ResourceList\nitems: []\n", wanted + ", not one of apiVersion \"v1\"\n"},
		"a text as items":          {listHead + "items: text\n", "error: standard input: items of the ResourceList must be a list, not a text\n"},
		"items twice":              {listHead + "items: []\nitems: [{kind: A}]\n", "error: standard input: items is there twice: drop one of them\n"},
		"a misspelt field":         {listHead + "items: []\nfunctionconfig: {}\n", "error: standard input: the ResourceList has a field that isn't known: \"functionconfig\": did you mean \"functionConfig\"?\n"},
		"a view beside a list":     {listHead + "items: []\n---\n" + view, wanted + ", in a single document: there are 2\n"},
		"a list beside a view":     {view + "---\n" + listHead + "items: []\n", wanted + ", not a bare MarkdownView: to expand it by hand, run fn with its file name, or with - for standard input\n"},
		"a view after the end":     {listHead + "items: []\n... # end\n" + view, "error: standard input is not YAML: line 5: something follows the end of a document: begin the next one with \"---\"\n"},
		"two JSON values":          {`{"kind": "ResourceList", "items": []} {"kind": "ResourceList", "items": []}`, wanted + ", in a single document: there are 2\n"},
		"a word as functionConfig": {listHead + "functionConfig: a\nitems: []\n", "error: standard input: the functionConfig can't be read: must be a map\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(ran{errOut: test.want, failed: true}, runCommand(nil, test.in), cmp.AllowUnexported(ran{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is no document of its own doesn't count, and nor does how the list is written.
func TestResourceListsAsTheyMayCome(t *testing.T) {
	config := `{"apiVersion": "view.zoetrope.github.io/v1", "kind": "MarkdownView", "metadata": {"name": "handbook"}, "spec": {"markdowns": {"SUMMARY.md": "- [A](a.md)", "a.md": "\ud83d\ude00"}}}`
	yaml := listHead + "functionConfig: " + strings.ReplaceAll(config, `\ud83d\ude00`, "😀") + "\n"
	for name, in := range map[string]string{
		"with empty documents beside it": "---\n---\n# nothing\n---\n" + yaml + "---\n",
		"in JSON":                        `{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [], "functionConfig": ` + config + `}`,
		"with a byte order mark":         "\ufeff" + yaml,
		"with Windows' line ends":        strings.ReplaceAll(yaml, "\n", "\r\n"),
		"with a Mac's line ends":         strings.ReplaceAll(yaml, "\n", "\r"),
		"with its items by an alias":     strings.Replace(yaml, "kind: ResourceList\n", "kind: ResourceList\nmetadata: {annotations: &none {}}\nresults: &i []\nitems: *i\n", 1),
		"with its own fields by a merge": "<<: {" + strings.ReplaceAll(strings.TrimSpace(listHead), "\n", ", ") + ", functionConfig: " + config[:len(config)-len(`"\ud83d\ude00"}}}`)] + `"😀"}}}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommand(nil, in)
			if got.failed || got.errOut != "" || strings.Count(got.out, "\n  kind: Service\n") != 1 || !strings.Contains(got.out, `a.md: "\U0001F600"`) {
				t.Errorf("failed: %t\n%s\n%s", got.failed, got.errOut, got.out)
			}
		})
	}
}
