package v1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidatePagePath(t *testing.T) {
	const invisible = "must not contain control or invisible formatting characters: rename the file"
	tests := map[string]struct {
		path string
		want string // "" for a good path
	}{
		"a file":                             {"a.md", ""},
		"a file in folders":                  {"guide/en/intro.md", ""},
		"another script":                     {"案内/はじめに.md", ""},
		"spaces and signs":                   {"a b (c) & 'd' #1.md", ""},
		"an emoji with joiners":              {"👩‍👩‍👧.md", ""},
		"a name that starts with a dot":      {".nojekyll", ""},
		"dots inside":                        {"a..b/c...md", ""},
		"two dots at the start of a file":    {"a/..b", ""},
		"the longest name":                   {strings.Repeat("x", 240), ""},
		"the longest path":                   {strings.Repeat("x/", 511) + "xx", ""},
		"nothing":                            {"", "must not be empty: name a file such as guide/intro.md"},
		"the folder itself":                  {".", "must name a file such as guide/intro.md, not a folder"},
		"the folder itself, with a slash":    {"./", "must name a file such as guide/intro.md, not a folder"},
		"the folder above":                   {"..", `must not contain "..": only files of the book itself can be pages`},
		"a file above":                       {"../x", `must not contain "..": only files of the book itself can be pages`},
		"a way up and down":                  {"a/../b", `must not contain "..": only files of the book itself can be pages`},
		"two dots at the start":              {"..x/y", ""},
		"an absolute path":                   {"/x", `must be relative: drop the leading "/"`},
		"an empty element":                   {"a//b", `must be clean: write "a/b"`},
		"a slash at the end":                 {"a/", `must be clean: write "a"`},
		"a dot as an element":                {"./a.md", `must be clean: write "a.md"`},
		"a backslash":                        {`a\b.md`, `must not contain a backslash: use "/" between folders`},
		"a NUL":                              {"a\x00.md", invisible},
		"a line end":                         {"a\n.md", invisible},
		"a right-to-left override":           {"a\u202edm.md", invisible},
		"a byte order mark":                  {"\ufeffa.md", invisible},
		"a line separator":                   {"a\u2028.md", invisible},
		"bytes that are not UTF-8":           {"a\xff.md", "must be UTF-8: rename the file"},
		"a name that no file system holds":   {"a/" + strings.Repeat("x", 241), `each file or folder name must have at most 240 bytes, "xxxxxxxxxxxxxxxx"… has 241: shorten it`},
		"300 characters":                     {strings.Repeat("x", 300), `each file or folder name must have at most 240 bytes, "xxxxxxxxxxxxxxxx"… has 300: shorten it`},
		"bytes count, not characters":        {strings.Repeat("あ", 81), `each file or folder name must have at most 240 bytes, "ああああああああああああああああ"… has 243: shorten it`},
		"a path that no program can be told": {strings.Repeat("x/", 512) + "x", "must have at most 1024 bytes, has 1025: use fewer folders or shorter names"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := ValidatePagePath(test.path); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateVolumePath(t *testing.T) {
	tests := map[string]string{
		"a/..b": "",
		"..a":   `must not start with "..": Kubernetes keeps such names in a mounted ConfigMap for itself`,
		"..a/b": `must not start with "..": Kubernetes keeps such names in a mounted ConfigMap for itself`,
		"../a":  `must not contain "..": only files of the book itself can be pages`,
		"":      "must not be empty: name a file such as guide/intro.md",
	}
	for path, want := range tests {
		got := ""
		if err := ValidateVolumePath(path); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}
