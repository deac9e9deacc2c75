package directory

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIgnores(t *testing.T) {
	tests := map[string]struct {
		patterns string
		ignored  []string // a folder ends with a slash
		kept     []string
	}{
		"what editors, desktops and git leave behind": {
			ignored: []string{".gitignore", "a/.gitattributes", ".gitmodules", "a.md~", "a/.a.md.swp", ".a.md.swo", "#a.md#", ".#a.md", "a/.DS_Store", "Thumbs.db", "desktop.ini", ".idea/", "a/.vscode/"},
			kept:    []string{"a.md", ".swp", "#a.md", ".gitkeep", "idea/", ".idea", ".hidden.md"},
		},
		"git's own data, whatever the patterns say": {
			patterns: "!.git\n!*",
			ignored:  []string{".git/", ".git", "a/.git/", ".GIT/"},
			kept:     []string{".github/", ".gitignore"},
		},
		"defaults that are brought back": {
			patterns: "!.vscode/\n!*~",
			ignored:  []string{".idea/"},
			kept:     []string{".vscode/", "a~"},
		},
		"a name matches at any depth": {
			patterns: "draft.md",
			ignored:  []string{"draft.md", "a/draft.md", "draft.md/"},
			kept:     []string{"draft.mdx", "adraft.md"},
		},
		"a leading slash means the folder itself": {
			patterns: "/draft.md",
			ignored:  []string{"draft.md"},
			kept:     []string{"a/draft.md"},
		},
		"a slash inside does too": {
			patterns: "a/draft.md",
			ignored:  []string{"a/draft.md"},
			kept:     []string{"b/a/draft.md", "draft.md"},
		},
		"a slash at the end means folders": {
			patterns: "drafts/",
			ignored:  []string{"drafts/", "a/drafts/"},
			kept:     []string{"drafts"},
		},
		"stars stop at slashes": {
			patterns: "/*.txt\na/*/b",
			ignored:  []string{"a.txt", "a/x/b"},
			kept:     []string{"a/a.txt", "a/b", "a/x/y/b"},
		},
		"two stars don't": {
			patterns: "**/tmp/x\na/**\nb/**/c",
			ignored:  []string{"tmp/x", "q/r/tmp/x", "a/x", "a/x/", "b/c", "b/x/c", "b/x/y/c"},
			kept:     []string{"a/", "a", "b/", "b/x/", "c"},
		},
		"two stars beside something else are one": {
			patterns: "a**b\n/x**y",
			ignored:  []string{"ab", "axb", "q/axb", "xy"},
			kept:     []string{"a/b", "x/y"},
		},
		"the last pattern that matches wins": {
			patterns: "*.log\n!keep.log\nkeep.log/",
			ignored:  []string{"a.log", "keep.log/"},
			kept:     []string{"keep.log", "a/keep.log"},
		},
		"bringing a folder back doesn't bring back what is ignored in it": {
			patterns: "*.log\n!/keep\n!/keep/",
			ignored:  []string{"keep/a.log"},
			kept:     []string{"keep/", "keep/a.md"},
		},
		"all but one folder": {
			patterns: "/*\n!/docs",
			ignored:  []string{"a/", "a.md"},
			kept:     []string{"docs/", "docs/a.md"},
		},
		"comments, empty lines and escapes": {
			patterns: "# a.md\n\n   \n\\#b.md\n\\!c.md\nd.md   \ne\\ \n\\*.md\r\n",
			ignored:  []string{"#b.md", "!c.md", "d.md", "e ", "*.md"},
			kept:     []string{"# a.md", "a.md", "c.md", "e", "x.md"},
		},
		"classes": {
			patterns: "[a-c].md\n[!x].txt\n[^y].csv\nq\\[z\\]",
			ignored:  []string{"a.md", "a.txt", "a.csv", "q[z]"},
			kept:     []string{"d.md", "x.txt", "y.csv", "qz"},
		},
		"a slash alone matches nothing": {
			patterns: "/\n!\n!/",
			kept:     []string{"a", "a/"},
		},
		"many stars are quick": {
			patterns: strings.Repeat("**/a/", 200) + "b",
			kept:     []string{strings.Repeat("a/", 400) + "c"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ps, err := parseIgnore(test.patterns)
			if err != nil {
				t.Fatal(err)
			}
			for want, paths := range map[bool][]string{true: test.ignored, false: test.kept} {
				for _, p := range paths {
					rel, isDir := strings.CutSuffix(p, "/")
					if got := ps.ignores(rel, isDir); got != want {
						t.Errorf("%q: ignored is %v", p, got)
					}
				}
			}
		})
	}
}

func TestParseIgnoreErrors(t *testing.T) {
	tests := map[string]struct{ patterns, want string }{
		"a bracket without an end":   {"a.md\n\nb[a-", `ignore: line 3: the pattern "b[a-": brackets or a backslash without their end: close them, or write \ before each that is meant as it is`},
		"a backslash without an end": {`a\`, `ignore: line 1: the pattern "a\\": brackets or a backslash without their end: close them, or write \ before each that is meant as it is`},
		"a named class":              {"x/[[:alpha:]]*.md", `ignore: line 1: the pattern "[[:alpha:]]*.md": classes such as [:alpha:] aren't known here, write a range such as a-z`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parseIgnore(test.patterns)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestIgnoresAsGit holds random patterns against git itself.
func TestIgnoresAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	git(t, dir, "init", "--quiet")
	var files []string
	for _, folder := range []string{"", "a/", "b/", "a/a/", "a/b/", "b/a/", "b/b/", "a/b/a/"} {
		for _, name := range []string{"a.md", "b.bak", "c", "#x#", " s ", "[a]"} {
			files = append(files, folder+name)
			writeFile(t, filepath.Join(dir, folder, name), "")
		}
	}
	slices.Sort(files)

	words := []string{
		"a", "b/", "/a", "/b/", "a/b", "a/*", "*.bak", "*.md", "!*.md", "!a", "!a/b", "!/b",
		"**/a", "a/**", "**/b/", "a/**/a.md", "*", "!*/", "/*", "!/a", `\#x#`, "[!a].md", "a*",
		"!a/b/", "**", "a/**/b", "**/a/**", "a**", "**d", "?", "/a/b/a*", "c ", ` s\ `, "!**/c",
		"a/**/**/c", "/**", "[a]", `\[a\]`, "!/a/b/a", "*/b/*", "#c", "!", "/",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var lines []string
		for range 1 + random.IntN(4) {
			lines = append(lines, words[random.IntN(len(words))])
		}
		text := strings.Join(lines, "\n") + "\n"
		writeFile(t, filepath.Join(dir, ".git", "info", "exclude"), text)
		listed := git(t, dir, "ls-files", "--others", "-z", "--exclude-from=.git/info/exclude")
		want := slices.Sorted(strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00"))
		if listed == "" {
			want = nil
		}

		ps, err := parseIgnore("!*~\n!.*.sw[a-p]\n!\\#*\\#\n" + text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, file := range files {
			if !ps.ignoresWithin(file, false) {
				got = append(got, file)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-git +we):\n%s", lines, diff)
		}
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v", args, err)
	}
	return string(out)
}

func writeFile(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
