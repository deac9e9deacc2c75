package book

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// build has a real mdBook, which MDBOOK names, build a book of one page with a
// book.toml, and returns what it prints and whether it succeeds.
func build(t *testing.T, toml string) (string, bool) {
	t.Helper()
	program := os.Getenv("MDBOOK")
	if program == "" {
		t.Skip("MDBOOK names no mdbook program")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"src/SUMMARY.md": "- [A](a.md)\n", "src/a.md": "", ConfigPath: toml} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	output, err := exec.CommandContext(t.Context(), program, "build", dir).CombinedOutput()
	return string(output), err == nil
}

// wrongHTML has a book.toml for each key below [output.html], nested ones included,
// with a value of a wrong type.
func wrongHTML() map[string]string {
	texts := map[string]string{}
	var add func(prefix string, known keys)
	add = func(prefix string, known keys) {
		for name, want := range known {
			if name == anyKey {
				name = `"x.y"`
			}
			key := prefix + name
			switch want := want.(type) {
			case keys:
				texts[key+" as a string"] = key + " = 'x'\n"
				add(key+".", want)
			case kind:
				if want.name == free.name {
					continue
				}
				texts[key+" as a table"] = key + " = {}\n"
				texts[key+" as a fraction"] = key + " = 1.5\n"
				texts[key+" as a list of numbers"] = key + " = [1]\n"
				texts[key+" as a large number"] = key + " = 5000000000\n"
			}
		}
	}
	add("output.html.", htmlKeys)
	texts["the old and the new name of a table"] = "[output.html]\nplaypen = {}\nplayground = {}\n"
	texts["a command"] = "output.html.command = 'x'\n"
	texts["a key that is unknown"] = "output.html.x = 1\n"
	return texts
}

// mdBook logs an error about a fault in [output.html], ignores the whole table, and
// builds the book.
func TestHTMLFaultsAgainstMDBook(t *testing.T) {
	for name, text := range wrongHTML() {
		t.Run(name, func(t *testing.T) {
			config, err := ParseConfig([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if len(config.Faults) != 1 || config.Faults[0].Severity != diagnostic.Warning || !config.HTMLIgnored {
				t.Errorf("faults: %v, ignored: %v", config.Faults, config.HTMLIgnored)
			}
			if output, ok := build(t, text); !ok || !strings.Contains(output, "ERROR") || !strings.Contains(output, "output.html") {
				t.Errorf("mdBook: %v, %s", ok, output)
			}
		})
	}
}

// What mdbook serve sets itself may be anything for it, and not for mdbook build.
func TestBuildFaultsAgainstMDBook(t *testing.T) {
	for _, key := range []string{"site-url", "live-reload-endpoint"} {
		for value, fails := range map[string]bool{"5": true, "['/a/']": true, "'/a/'": false} {
			t.Run(key+" = "+value, func(t *testing.T) {
				text := "output.html." + key + " = " + value + "\n"
				config, err := ParseConfig([]byte(text))
				if err != nil || len(config.Faults) > 0 || config.HTMLIgnored {
					t.Errorf("for mdbook serve: %v, %v, ignored: %v", err, config.Faults, config.HTMLIgnored)
				}
				if built := config.Built(); (len(built.Faults) == 1) != fails || built.HTMLIgnored != fails {
					t.Errorf("faults: %v, ignored: %v", built.Faults, built.HTMLIgnored)
				}
				if output, ok := build(t, text); !ok || strings.Contains(output, "ERROR") != fails {
					t.Errorf("mdBook: %v, %s", ok, output)
				}
			})
		}
	}
}

// What is no book.toml to mdBook isn't one here, and the other way round.
func TestFatalConfigAgainstMDBook(t *testing.T) {
	tests := map[string]bool{
		"[book]\ntitle = 1\n":                       true,
		"[book]\nauthors = 'a'\n":                   true,
		"[book]\nauthors = [1]\n":                   true,
		"[book]\ncolour = 1\n":                      true,
		"[book]\ntext-direction = 'up'\n":           true,
		"[build]\ncreate-missing = 1\n":             true,
		"[build]\nextra-watch-dirs = 'x'\n":         true,
		"[rust]\nedition = '2027'\n":                true,
		"[rust]\nedition = 2021\n":                  true,
		"[other]\n":                                 true,
		"output = 1\n":                              true,
		"output.html = false\n":                     true,
		"output.html.command = 1\n":                 true,
		"preprocessor = 1\n":                        true,
		"preprocessor.x = 1\n":                      true,
		"preprocessor.links.optional = 1\n":         true,
		"preprocessor.links.before = 1\n":           true,
		"preprocessor.links.after = [1]\n":          true,
		"preprocessor.links.command = 1\n":          true,
		"preprocessor.links.renderers = 1\n":        false,
		"preprocessor.links.colour = 1\n":           false,
		"[output.markdown]\noptional = 1\n":         false,
		"[output.markdown]\ncommand = 1\n":          true,
		"[preprocessor.a]\noptional = true\n":       false,
		"[preprocessor.links]\nafter = ['gone']\n":  false,
		"[preprocessor.links]\nafter = ['links']\n": true,
		"[preprocessor.links]\nafter = ['index']\n[preprocessor.index]\nafter = ['links']\n": true,
		"[preprocessor.links]\nafter = ['index']\n":                                          false,
		"[preprocessor.a]\nbefore = ['b']\noptional = true\n[preprocessor.b]\nbefore = ['c']\noptional = true\n[preprocessor.c]\nbefore = ['a']\noptional = true\n": true,
		"[preprocessor.a]\nbefore = ['b', 'c']\noptional = true\n[preprocessor.b]\nbefore = ['c']\noptional = true\n[preprocessor.c]\noptional = true\n":            false,
		"[preprocessor.a]\nbefore = ['links']\nafter = ['index']\noptional = true\n[preprocessor.index]\nafter = ['links']\n":                                       true,
		"[build]\nuse-default-preprocessors = false\n[preprocessor.a]\nbefore = ['links']\nafter = ['links']\noptional = true\n":                                    false,
	}
	for text, fatal := range tests {
		t.Run(text, func(t *testing.T) {
			config, err := ParseConfig([]byte(text))
			got := err != nil || len(config.Faults.Of(diagnostic.Error)) > 0
			if got != fatal {
				t.Errorf("fatal here: %v, %v, %v", got, err, config.Faults)
			}
			if output, ok := build(t, text); ok == fatal {
				t.Errorf("mdBook: %v, %s", ok, output)
			}
		})
	}
}
