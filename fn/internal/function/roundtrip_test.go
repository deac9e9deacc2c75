package function

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// Texts that YAML, or one of its parsers, may read as something else.
var awkwardTexts = []string{
	"", " ", "\n", "\n\n", "\t", "a", "a\n", "a\n\n\n", "no line end\nhere",
	"hard  \nbreak", "  indented\n", "\n\n  after lines\n", " \n", "a\n ", "a\n\t\n", "\ttab first\n", "\n\ttab first\n", "a\n\ttab\n", " \ttab\n",
	"\ufeff# BOM\n", "a\ufeffb\n", "crlf\r\nlines\r\n", "lone\rreturn\n", "\r", "a\r", "\u0085", "a\u0085\nb", "a\u2028b\nc\u2029d", "\u2028", "\u00a0\n",
	"yes", "No", "on", "y", "null", "~", "true", "1_000", "0x1", "0o7", "017", "1e3", ".5", "+1", "-", "--", "---", "...", "2020-01-01", "2020-01-01T00:00:00Z",
	"12:30:45", "190:20:30", ".inf", ".NaN", "=", "<<", "1" + strings.Repeat("0", 100), "0b1", "- a", "? a", ": a", "a: b", "a #b", "#", "# A", "& a", "*a", "!a", "|", ">", "%a", "@a", "`a`",
	"{a}", "[a]", "'a'", "\"a\"", "a\\nb", "'", "\"", "{{#include x}}",
	"---\nfront: matter\n---\n# A\n", "--- a\n", "a\n---\nb\n", "...\na\n", "a\n...\n", "# a\n#b\n", "%YAML 1.2\n---\n",
	"👩‍👩‍👧 emoji\n", "e\u0301\n", "\u202eright to left\n", "\x00", "a\x1b[0m\n", "\x7f\n", "\xff\xfe", "\xc3\x28", "\ud7ff\ue000\ufffd\n", "\U0010ffff\n", "\ufffe\uffff\n",
	strings.Repeat("long ", 200), strings.Repeat("line\n", 200) + " ", strings.Repeat("x", 500) + "\n" + strings.Repeat("y", 500),
}

// checkRoundTrip runs the function over pages and reads what it writes with the
// parsers of those who will: kubectl's, and kyaml's for kustomize and kpt.
func checkRoundTrip(t *testing.T, pages ...string) {
	t.Helper()
	folder := fstest.MapFS{"docs/SUMMARY.md": {Data: []byte("- [A](a.md)\n")}, "docs/a.md": {}}
	for i, page := range pages {
		folder[fmt.Sprintf("docs/page%d.md", i)] = &fstest.MapFile{Data: []byte(page)}
	}
	fn := &Function{WorkingDirectory: folder}
	const view = "apiVersion: view.zoetrope.github.io/v1\nkind: MarkdownView\nmetadata: {name: handbook}\nspec: {contentFrom: [{directory: {path: docs}}]}\n"
	var list, stream bytes.Buffer
	input := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  " + strings.ReplaceAll(strings.TrimSpace(view), "\n", "\n  ") + "\n"
	if err := RunOnResourceList(fn, strings.NewReader(input), &list, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := RunOnFiles(fn, []string{"-"}, strings.NewReader(view), &stream, io.Discard); err != nil {
		t.Fatal(err)
	}

	same := func(reader string, got func(key string) []byte) {
		t.Helper()
		for i, want := range pages {
			if diff := cmp.Diff(want, string(got(fmt.Sprintf("page%d.md", i)))); diff != "" {
				t.Errorf("%s reads another page than %q: %s", reader, want, diff)
			}
		}
	}
	mounted := parse(t, list.String()).mounted(t)
	same("kubectl", func(key string) []byte { return mounted[key] })

	items, err := (&kio.ByteReader{Reader: strings.NewReader(list.String())}).Read()
	if err != nil {
		t.Fatal(err)
	}
	read, faults := pagesOf(items[0])
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	same("kyaml", func(key string) []byte { return read.Pages[key] })

	// kio's writer: what kustomize and kpt make of it.
	var again bytes.Buffer
	if err := (kio.ByteWriter{Writer: &again}).Write(items); err != nil {
		t.Fatal(err)
	}
	for _, manifest := range []string{stream.String(), again.String()} {
		first, err := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest))).Read()
		if err != nil {
			t.Fatal(err)
		}
		var configMap corev1.ConfigMap
		if err := yaml.UnmarshalStrict(first, &configMap); err != nil {
			t.Fatal(err)
		}
		same("kubectl, by hand,", func(key string) []byte {
			if text, isText := configMap.Data[key]; isText {
				return []byte(text)
			}
			return configMap.BinaryData[key]
		})
	}
}

func TestPagesSurviveYAML(t *testing.T) {
	checkRoundTrip(t, awkwardTexts...)
	checkRoundTrip(t, strings.Repeat("long ", 40000), strings.Repeat("line\n", 10000), strings.Repeat("x", 100000)+"\ny")
}

func TestRandomPagesSurviveYAML(t *testing.T) {
	parts := []string{
		"\n", "\n", "\n\n", " ", "  ", "\t", "\r", "\r\n", "a", "b c", "é", "日本", "👩‍👧", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffe",
		"-", "- ", "---", "...", "#", " #", ":", ": ", "?", "? ", "|", ">", "'", "\"", "\\", "%", "@", "`", "&a", "*a", "!a", "!!int ", "<<", "=", "~", "{", "}", "[", "]", ",",
		"0", "1", "0x", ".", "+", "_", "e", "yes", "null", "2020-01-01", "\x00", "\x1b", "\x7f", "\xff", "\xe3\x81",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		pages := make([]string, 200)
		for i := range pages {
			for range 1 + random.IntN(8) {
				pages[i] += parts[random.IntN(len(parts))]
			}
		}
		checkRoundTrip(t, pages...)
	}
}

func FuzzPageRoundTrip(f *testing.F) {
	for _, text := range awkwardTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		checkRoundTrip(t, string(page))
	})
}

// Reviewers read the pages: what YAML can hold as a block is one.
func TestPagesAreBlocksWherePossible(t *testing.T) {
	tests := map[string]struct {
		text string
		want string
	}{
		"ordinary text":  {"# A\n\ntext\n", "|\n      # A\n\n      text"},
		"no line end":    {"# A\ntext", "|-\n      # A\n      text"},
		"more line ends": {"a\n\n", "|+\n      a"},
		"indented text":  {"  a\nb\n", "|2\n        a\n      b"},
		"front matter":   {"---\na: b\n---\n", "|\n      ---\n      a: b\n      ---"},
		"tabs":           {"a\n\tb\n", "|\n      a\n      \tb"},
		"a line that has space at its end, which the writer can't": {"a  \nb\n", `"a  \nb\n"`},
		"carriage returns":      {"a\r\nb\r\n", `"a\r\nb\r\n"`},
		"one line":              {"text", "text"},
		"a word for true":       {"yes", `"yes"`},
		"a number":              {"0x1", `"0x1"`},
		"a text with a sha":     {"sha256:0123", "sha256:0123"},
		"a number with letters": {"10m", "10m"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			list, err := valueNode(map[string]any{"items": []any{map[string]any{"data": map[string]any{"page.md": test.text}}}})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := (kio.ByteWriter{Writer: &out}).Write([]*kyaml.RNode{kyaml.NewRNode(list)}); err != nil {
				t.Fatal(err)
			}
			want := "items:\n- data:\n    page.md: " + test.want
			if diff := cmp.Diff(want, strings.TrimRight(out.String(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
