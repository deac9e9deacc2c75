package function

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

const goodView = `apiVersion: view.zoetrope.github.io/v1
kind: MarkdownView
metadata: {name: good}
spec: {markdowns: {SUMMARY.md: "- [A](a.md)", a.md: ""}}
`

func TestAFileIsReadWhollyOrNotAtAll(t *testing.T) {
	other := strings.Replace(goodView, "good", "other", 1)
	tests := map[string]struct {
		text, want string
	}{
		"a view of a misspelt group": {
			goodView + "---\n" + strings.Replace(other, "zoetrope", "zoetrop", 1),
			`FILE: document 2 is a MarkdownView of apiVersion "view.zoetrop.github.io/v1": use view.zoetrope.github.io/v1`,
		},
		"a view without an apiVersion": {
			strings.Replace(goodView, "apiVersion: view.zoetrope.github.io/v1\n", "", 1),
			`FILE: document 1 is a MarkdownView without an apiVersion: use view.zoetrope.github.io/v1`,
		},
		"a view after the end of the document": {
			goodView + "...\n\n# more\n" + other,
			`FILE: is not YAML: line 8: something follows the end of a document: begin the next one with "---"`,
		},
		"an end of the document, and another document": {goodView + "...\n---\n" + other, ""},
		"an end of the document, and nothing":          {goodView + "...\n# the end\n", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "view.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errOut strings.Builder
			got := ""
			if err := RunOnFiles(&Function{WorkingDirectory: fstest.MapFS{}}, []string{file}, nil, &out, &errOut); err != nil {
				got = strings.ReplaceAll(err.Error(), file, "FILE")
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if (out.Len() == 0) != (test.want != "") {
				t.Errorf("it printed %q", out.String())
			}
		})
	}
}
