package function

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"
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

// What is named by mistake may have no end.
func TestAFileThatIsTooLarge(t *testing.T) {
	const remedy = " that a file may have: split it, and name only files with MarkdownViews and the ConfigMaps that hold their pages"
	file := filepath.Join(t.TempDir(), "image.iso")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, maxFileBytes+1); err != nil {
		t.Fatal(err)
	}
	err := RunOnFiles(&Function{WorkingDirectory: fstest.MapFS{}}, []string{file}, nil, io.Discard, io.Discard)
	if want := file + " has 268435457 bytes, more than the 268435456" + remedy; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for text, want := range map[string]string{
		"1234":  "",
		"12345": "standard input has more than the 4 bytes" + remedy,
	} {
		got := ""
		read, err := readAll(stdin, iotest.OneByteReader(strings.NewReader(text)), 4)
		if err != nil {
			got = err.Error()
		}
		if got != want || want == "" && string(read) != text {
			t.Errorf("%s: got %q and %q, want %q", text, read, got, want)
		}
	}
}
