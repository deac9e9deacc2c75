package function

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	kubectl "k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/kustomize/kyaml/kio"
)

// Markers are views that tell by their names which of them were read.
const (
	markerYAML = "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: NAME}\nspec: {markdowns: {SUMMARY.md: '- [A](a.md)', a.md: ''}}\n"
	markerFlow = "{apiVersion: view.zoetrope.github.io/v1, kind: MarkdownView, metadata: {name: NAME}, spec: {markdowns: {SUMMARY.md: '- [A](a.md)', a.md: ''}}}"
	markerJSON = `{"apiVersion": "view.zoetrope.github.io/v1", "kind": "MarkdownView", "metadata": {"name": "NAME"}, "spec": {"markdowns": {"SUMMARY.md": "- [A](a.md)", "a.md": ""}}}`
)

func marker(form, name string) string { return strings.ReplaceAll(form, "NAME", name) }

// markersRead returns the names of the markers that the function expands by hand.
func markersRead(t *testing.T, text string) ([]string, error) {
	t.Helper()
	var out strings.Builder
	if err := RunOnFiles(&Function{WorkingDirectory: fstest.MapFS{}}, []string{"-"}, strings.NewReader(text), &out, io.Discard); err != nil {
		if out.Len() > 0 {
			t.Errorf("there is output in spite of %v", err)
		}
		return nil, err
	}
	objects, err := (&kio.ByteReader{Reader: strings.NewReader(out.String())}).Read()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range objects {
		if object.GetKind() == "Service" {
			names = append(names, strings.TrimPrefix(object.GetName(), "viewer-"))
		}
	}
	slices.Sort(names)
	return names, nil
}

// kubectlReads returns the names of what kubectl finds in a stream: this is the
// code that reads its files.
func kubectlReads(text string) ([]string, error) {
	infos, err := kubectl.NewLocalBuilder().Unstructured().Local().ContinueOnError().
		Stream(strings.NewReader(text), "input").Flatten().Do().Infos()
	var names []string
	for _, info := range infos {
		names = append(names, info.Name)
	}
	slices.Sort(names)
	return names, err
}

func TestNothingOfAStreamIsDropped(t *testing.T) {
	yaml, other := marker(markerYAML, "a"), marker(markerYAML, "b")
	flow, otherFlow := marker(markerFlow, "a"), marker(markerFlow, "b")
	json, otherJSON := marker(markerJSON, "a"), marker(markerJSON, "b")
	const unmarked = `something follows the end of a document: begin the next one with "---"`
	tests := map[string]struct {
		text string
		want string // part of the error; a and b are read if there is none
	}{
		"two documents": {yaml + "---\n" + other, ""},
		"JSON values in a row, as jq prints them":           {json + "\n" + otherJSON + "\n", ""},
		"JSON values without a line between":                {json + otherJSON, ""},
		"JSON values set off as YAML documents":             {json + "\n---\n" + otherJSON, ""},
		"JSON values after a mark":                          {"---\n" + json + "\n" + otherJSON, ""},
		"YAML after a JSON value":                           {json + "\n" + other, unmarked},
		"a YAML document after a JSON value":                {json + "\n---\n" + other, ""},
		"flow maps in a row":                                {flow + "\n" + otherFlow + "\n", unmarked},
		"flow maps as documents":                            {flow + "\n---\n" + otherFlow + "\n", ""},
		"a flow map after the mark":                         {yaml + "--- " + otherFlow + "\n", `line 5: "{apiVersion: view.zo" follows "---": put it on the next line`},
		"a mark with a comment":                             {yaml + "--- # b\n" + other, ""},
		"a mark with spaces":                                {yaml + "---  \t \n" + other, ""},
		"a mark with a tag":                                 {yaml + "--- !!map\n" + other, `line 5: "!!map" follows "---": put it on the next line`},
		"a mark at the very end":                            {yaml + "---\n" + other + "---", ""},
		"marks around nothing":                              {"---\n---\n" + yaml + "---\n# nothing\n---\n" + other + "---\n---\n", ""},
		"an end":                                            {yaml + "...\n---\n" + other, ""},
		"an end with a comment":                             {yaml + "... # the end\n---\n" + other, ""},
		"an end with a comment, and no mark":                {yaml + "... # the end\n" + other, unmarked},
		"an end, and no mark":                               {yaml + "...\n" + other, unmarked},
		"lone carriage returns":                             {strings.ReplaceAll(yaml+"---\n"+other, "\n", "\r"), ""},
		"carriage returns and line feeds":                   {strings.ReplaceAll(yaml+"---\n"+other, "\n", "\r\n"), ""},
		"NEL":                                               {strings.ReplaceAll(yaml+"---\n"+other, "\n", "\u0085"), ""},
		"line separators":                                   {strings.ReplaceAll(yaml+"---\n"+other, "\n", "\u2028"), ""},
		"paragraph separators":                              {strings.ReplaceAll(yaml+"---\n"+other, "\n", "\u2029"), ""},
		"a byte order mark between":                         {"\ufeff" + yaml + "---\n\ufeff" + other, ""},
		"a byte order mark before JSON":                     {"\ufeff" + json + otherJSON, ""},
		"a byte order mark before the mark":                 {yaml + "\ufeff---\n" + other, "is not YAML"},
		"a directive":                                       {"%YAML 1.1\n---\n" + yaml + "---\n" + other, "is not YAML: line 1: a YAML directive can't be read: drop the line"},
		"a directive of a newer YAML":                       {"%YAML 1.2\n---\n" + yaml + "---\n" + other, "is not YAML: line 1: a YAML directive can't be read: drop the line"},
		"a directive between":                               {yaml + "...\n%YAML 1.1\n---\n" + other, "is not YAML: line 6: a YAML directive can't be read: drop the line"},
		"a mark in a block":                                 {strings.Replace(yaml, "a.md: ''}}", "a.md: ''}}\n# text", 1) + "---\n" + strings.Replace(other, "spec: {markdowns: {SUMMARY.md: '- [A](a.md)', a.md: ''}}", "spec:\n  markdowns:\n    SUMMARY.md: '- [A](a.md)'\n    a.md: |\n      --- \n      ---\n      ...\n      --- a", 1), ""},
		"the same map twice":                                {yaml + "\n" + other, "document 1 can't be read: apiVersion is there twice: begin the next resource with \"---\""},
		"a List":                                            {"apiVersion: v1\nkind: List\nitems: [" + flow + ", " + otherFlow + "]\n", ""},
		"a List in JSON":                                    {`{"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [` + json + "," + otherJSON + "]}", ""},
		"a List beside a document":                          {"apiVersion: v1\nkind: List\nitems: [" + flow + "]\n---\n" + other, ""},
		"a List after an empty document":                    {"---\n---\napiVersion: v1\nkind: List\nitems: [" + flow + ", " + otherFlow + "]\n", ""},
		"a List of nothing beside others":                   {yaml + "---\napiVersion: v1\nkind: List\nitems: []\n---\n" + other, ""},
		"a List in a List":                                  {"apiVersion: v1\nkind: List\nitems:\n- " + flow + "\n- {apiVersion: v1, kind: List, items: [" + otherFlow + "]}\n", ""},
		"a ResourceList beside a document":                  {"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [" + flow + "]\n---\n" + other, ""},
		"a ResourceList with a functionConfig":              {"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: " + flow + "\nitems: [" + otherFlow + "]\n", "document 1: a ResourceList with a functionConfig is read from standard input, without a file's name"},
		"a typed list":                                      {"apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownViewList\nitems: [" + flow + ", " + otherFlow + "]\n", ""},
		"a typed list whose items have no kind":             {strings.ReplaceAll("apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownViewList\nitems: ["+flow+", "+otherFlow+"]\n", "{apiVersion: view.zoetrope.github.io/v1, kind: MarkdownView, ", "{"), ""},
		"items that are a text":                             {yaml + "---\napiVersion: v1\nkind: List\nitems: text\n", "document 2: items of the List must be a list, not a text"},
		"items that are a map":                              {yaml + "---\napiVersion: v1\nkind: List\nitems: {a: b}\n", "document 2: items of the List must be a list, not a map"},
		"items of a list that is misspelt":                  {yaml + "---\napiVersion: v1\nkind: List\nitem: [" + otherFlow + "]\n", `document 2: the List has no items, but "item"`},
		"items beside others":                               {yaml + "---\napiVersion: v1\nkind: List\nitems: []\nitem: [" + otherFlow + "]\n", `document 2: the List has a field that isn't known: "item"`},
		"items twice":                                       {yaml + "---\napiVersion: v1\nkind: List\nitems: []\nitems: [" + otherFlow + "]\n", "document 2 can't be read: items is there twice"},
		"items by an alias":                                 {"apiVersion: v1\nkind: List\nmetadata: {annotations: &m {a: b}}\nitems: &i [" + flow + ", " + otherFlow + "]\n", ""},
		"items by a merge":                                  {"apiVersion: v1\nkind: List\n<<: {items: [" + flow + ", " + otherFlow + "]}\n", ""},
		"an item that is a text":                            {"apiVersion: v1\nkind: List\nitems: [" + flow + ", a]\n", "document 1: items[1] can't be read: must be a map"},
		"an item that is null":                              {"apiVersion: v1\nkind: List\nitems: [" + flow + ", null]\n", "document 1: items[1] can't be read: must be a map"},
		"an item without a kind":                            {"apiVersion: v1\nkind: List\nitems: [" + flow + ", {metadata: {name: b}}]\n", "document 1: items[1] has no kind"},
		"items of what is no list":                          {yaml + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nitems: [" + otherFlow + "]\n", "document 2: a ConfigMap has no items"},
		"a mistake in a later JSON value":                   {json + "\n{\n\"a\": 1,\n}\n", "is neither JSON nor YAML: line 4: invalid character '}' looking for beginning of object key string"},
		"a JSON list, as jq prints .items":                  {"[" + json + ",\n" + otherJSON + "]", "document 1 is a list: write its items as documents, or as the items of a List"},
		"a text beside others":                              {yaml + "---\ntext\n", "document 2 can't be read: must be a map"},
		"a list beside others":                              {yaml + "---\n- " + otherFlow + "\n", "document 2 is a list"},
		"an anchor of another document":                     {strings.Replace(yaml, "'- [A](a.md)'", "&s '- [A](a.md)'", 1) + "---\n" + strings.Replace(other, "'- [A](a.md)'", "*s", 1), "is not YAML: unknown anchor 's' referenced"},
		"an anchor of another document, by other line ends": {strings.ReplaceAll(strings.Replace(yaml, "'- [A](a.md)'", "&s '- [A](a.md)'", 1)+"---\n"+strings.Replace(other, "'- [A](a.md)'", "*s", 1), "\n", "\r"), "document 2 can't be read: a YAML alias names an anchor of another document"},
		"the end of the file in a map":                      {yaml + "---\n" + strings.TrimSuffix(otherFlow, "}"), "is not YAML: line 6: did not find expected ',' or '}'"},
		"a NUL byte":                                        {yaml + "\x00---\n" + other, "is not YAML: line 5: control characters are not allowed: drop U+0000"},
		"a tab":                                             {yaml + "---\n\t" + other, "is not YAML: line 6: found character that cannot start any token: indent with spaces, not with tabs"},
		"UTF-16":                                            {"\xff\xfea\x00:\x00\n\x00", "is UTF-16: save it as UTF-8"},
		"UTF-16 of the other order":                         {"\xfe\xff\x00a\x00:\x00\n", "is UTF-16: save it as UTF-8"},
		"UTF-16 without a mark":                             {"a\x00:\x00 \x00b\x00\n\x00", "is UTF-16: save it as UTF-8"},
		"what is not UTF-8":                                 {yaml + "---\n" + strings.Replace(other, "a.md: ''", "a.md: '\xff'", 1), "is not YAML: line 9: invalid UTF-8: save it as UTF-8"},
		"JSON with an escaped emoji, as Python writes":      {strings.Replace(json, `"a.md": ""`, `"a.md": "\ud83d\ude00"`, 1) + otherJSON, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := markersRead(t, test.text)
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want == "":
				if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
					t.Error(diff)
				}
			case err == nil:
				t.Errorf("no error, and %v are read", got)
			case !strings.Contains(err.Error(), test.want):
				t.Errorf("got %q, want %q", err, test.want)
			}
		})
	}
}

// separators are what may stand between two documents, or be mistaken for it.
var separators = []string{
	"", "\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029", "\n\n", " ", "\t", "\n\t\n", "\ufeff", "\x00", "\f",
	"---\n", "---", "--- \n", "---\t\n", "--- # c\n", "---# c\n", "---\r\n", "---\r", "---\u0085", "---\u2028", "\n---\n", "\n--- ", "\n---\n---\n", "\n---\n# c\n---\n", " ---\n", "----\n", "-- -\n",
	"...\n", "\n...\n", "\n... # c\n", "\n...\n---\n", "\n... # c\n---\n", "\n...\r\n", "\n....\n", "\n...\n...\n", "\n...\u0085",
	"\n%YAML 1.1\n---\n", "\n...\n%YAML 1.1\n---\n", "\n...\n%YAML 1.2\n---\n", "\n...\n%TAG ! a:\n---\n", "\n---\n\ufeff", "\n\ufeff---\n", "\n---\n\x00\n---\n",
	",", ", ", "\n,\n", ";", "\n# c\n", "\n# ---\n", "\n--- |\n", "\n--- >\n  text\n---\n", "\n--- 'a\n---\nb'\n", "\n--- null\n---\n", "\n---\n~\n---\n", "\n---\n{}\n---\n", "\n---\n[]\n---\n", "\n--- !!map\n", "\n--- &a\n", "\n--- *a\n",
	"\n- ", "\n? ", "\n: ", "\nkey: ", "\nkey: |\n", "\nkey: |\n  ---\n---\n", "\n\"a\": ", "\n'", "\n\"", "\n}\n", "\n]\n", "\n{", "\n[",
}

func TestStreamsOfMarkersAreReadWhollyOrNotAtAll(t *testing.T) {
	forms := []string{markerYAML, markerFlow, markerJSON, markerJSON + "\n"}
	random := rand.New(rand.NewPCG(3, 4))
	for _, first := range forms {
		for _, second := range forms {
			for _, separator := range separators {
				checkMarkers(t, marker(first, "m0")+separator+marker(second, "m1"), 2)
			}
		}
	}
	for range 5000 {
		n := 2 + random.IntN(4)
		var text strings.Builder
		text.WriteString(pick(random, []string{"", "", "", "---\n", "\ufeff", "# c\n", "\n", "%YAML 1.1\n---\n"}))
		usual := pick(random, separators)
		for i := range n {
			if i > 0 {
				if random.IntN(3) == 0 {
					usual = pick(random, separators)
				}
				text.WriteString(usual)
			}
			text.WriteString(marker(pick(random, forms), fmt.Sprintf("m%d", i)))
		}
		text.WriteString(pick(random, []string{"", "", "\n", "---\n", "...\n", "\n# c", "\r"}))
		checkMarkers(t, text.String(), n)
	}
}

func pick(random *rand.Rand, from []string) string { return from[random.IntN(len(from))] }

// checkMarkers wants all markers or an error.
func checkMarkers(t *testing.T, text string, n int) {
	t.Helper()
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("m%d", i))
	}
	if got, err := markersRead(t, text); err == nil {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("not all of %q is read: %s", text, diff)
		}
	}
}

// What people may write, and kubectl reads, is read.
func TestWhatKubectlReadsIsRead(t *testing.T) {
	forms := []string{markerYAML, markerFlow + "\n", markerJSON + "\n"}
	between := []string{"---\n", "--- \n", "---\t\n", "--- # c\n", "---# c\n", "---\r\n", "---\n---\n", "---\n\ufeff", "---\n# c\n---\n", "---\n~\n---\n", "---\nnull\n---\n", "...\n---\n", "# c\n---\n# c\n"}
	for _, first := range forms {
		for _, second := range forms {
			for _, separator := range between {
				checkLikeKubectl(t, marker(first, "a")+separator+marker(second, "b"))
			}
		}
	}
	for _, separator := range []string{"", " ", "\n", "\n\n", "\t", "\r\n"} {
		checkLikeKubectl(t, marker(markerJSON, "a")+separator+marker(markerJSON, "b")+separator)
	}
	for _, list := range []string{
		"apiVersion: v1\nkind: List\nitems: [A, B]\n",
		"apiVersion: v1\nkind: List\nmetadata: {resourceVersion: ''}\nitems: [A, {apiVersion: v1, kind: List, items: [B]}]\n",
		"apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownViewList\nitems: [A, B]\n---\napiVersion: v1\nkind: List\nitems: []\n",
	} {
		list = strings.ReplaceAll(strings.ReplaceAll(list, "A", marker(markerFlow, "a")), "B", marker(markerFlow, "b"))
		checkLikeKubectl(t, list)
		checkLikeKubectl(t, strings.ReplaceAll(list, "{apiVersion: view.zoetrope.github.io/v1, kind: MarkdownView, ", "{"))
	}
}

func checkLikeKubectl(t *testing.T, text string) {
	t.Helper()
	theirs, refused := kubectlReads(text)
	ours, err := markersRead(t, text)
	switch {
	case refused != nil: // and what the function does with it is tested elsewhere
	case err != nil:
		t.Errorf("kubectl reads %q, and the function doesn't: %v", text, err)
	default:
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Errorf("kubectl reads something else of %q: %s", text, diff)
		}
	}
}

func FuzzStream(f *testing.F) {
	for _, separator := range separators {
		f.Add(separator, byte(0), byte(0))
		f.Add(separator, byte(1), byte(2))
	}
	forms := []string{markerYAML, markerFlow, markerJSON, markerJSON + "\n"}
	f.Fuzz(func(t *testing.T, separator string, first, second byte) {
		if strings.Contains(separator, "#") || strings.Contains(separator, "<<") {
			return // what follows may be a comment, or merged
		}
		checkMarkers(t, marker(forms[int(first)%len(forms)], "m0")+separator+marker(forms[int(second)%len(forms)], "m1"), 2)
	})
}
