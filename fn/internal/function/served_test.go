package function

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// mdbook is the real program.
func mdbook(t testing.TB) string {
	t.Helper()
	program := os.Getenv("MDBOOK")
	if program == "" {
		t.Skip("MDBOOK doesn't name the mdbook to compare with: see the Makefile's target mdbook")
	}
	return program
}

// writeTree makes files; a content that starts with "-> " is the target of a link.
func writeTree(t testing.TB, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, isLink := strings.CutPrefix(content, "-> "); isLink {
			err = os.Symlink(target, file)
		} else {
			err = os.WriteFile(file, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// readTree returns the files below a folder, but for those of skipped folders.
func readTree(t testing.TB, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		rel, _ := filepath.Rel(folder, name)
		files[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// volume lays a volume out as the kubelet does: what the items name is in a folder of
// its own, and the mount holds links to it.
func (o objects) volume(t testing.TB, name, mount string) {
	t.Helper()
	files := map[string]string{}
	project := func(configMap string, items []corev1.KeyToPath) {
		held := o.configMaps[configMap]
		for _, item := range items {
			content, ok := held.Data[item.Key]
			if binary, isBinary := held.BinaryData[item.Key]; isBinary {
				content, ok = string(binary), true
			}
			if _, taken := files[item.Path]; taken || !ok {
				t.Fatalf("item %v of %s: there is %v, taken %v", item, configMap, ok, taken)
			}
			files[item.Path] = content
		}
	}
	pod := o.deployment.Spec.Template.Spec
	at := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if at < 0 {
		t.Fatalf("no volume %s", name)
	}
	if volume := pod.Volumes[at]; volume.ConfigMap != nil {
		project(volume.ConfigMap.Name, volume.ConfigMap.Items)
	} else if volume.Projected != nil {
		for _, source := range volume.Projected.Sources {
			project(source.ConfigMap.Name, source.ConfigMap.Items)
		}
	} else if err := os.MkdirAll(mount, 0o755); err != nil {
		t.Fatal(err)
	}
	writeTree(t, filepath.Join(mount, "..2026"), files)
	links := map[string]string{"..data": "-> ..2026"}
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		links[top] = "-> ..data/" + top
	}
	if len(files) > 0 {
		writeTree(t, mount, links)
	}
}

// assemble lays out what the container mdbook of a pod mounts, below inside, and has the
// pod's init containers do their work with a shell, by default the system's.
func (o objects) assemble(t testing.TB, inside string, shell ...string) {
	t.Helper()
	pod := o.deployment.Spec.Template.Spec
	mounted := map[string]string{} // volume → where
	for _, container := range append(pod.InitContainers, pod.Containers[0]) {
		for _, mount := range container.VolumeMounts {
			at := filepath.Join(inside, mount.MountPath)
			if _, again := mounted[mount.Name]; !again {
				o.volume(t, mount.Name, at)
			}
			mounted[mount.Name] = at
		}
	}
	folders := regexp.MustCompile(` /(pages|book)/`)
	for _, container := range pod.InitContainers {
		if len(shell) == 0 {
			shell = []string{"sh"}
		}
		arguments := append(slices.Clone(shell[1:]), container.Command[1], folders.ReplaceAllString(container.Command[2], " "+inside+"/$1/"))
		for _, argument := range container.Args {
			argument = strings.ReplaceAll(argument, "$$", "$") // as Kubernetes does
			if path.IsAbs(argument) {
				argument = inside + argument
			}
			arguments = append(arguments, argument)
		}
		for range 2 { // again, as after a restart of the pod's node
			if out, err := exec.CommandContext(t.Context(), shell[0], arguments...).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", container.Name, err, out)
			}
		}
	}
}

// site is what a viewer pod publishes; inside holds the pod's folders.
func (o objects) site(t testing.TB, inside string) map[string]string {
	t.Helper()
	program := mdbook(t)
	container := o.deployment.Spec.Template.Spec.Containers[0]
	o.assemble(t, inside)
	command := exec.CommandContext(t.Context(), program, "build")
	command.Dir = filepath.Join(inside, path.Join("/book", container.WorkingDir))
	if container.WorkingDir != "" {
		command.Dir = filepath.Join(inside, container.WorkingDir)
	}
	build := ""
	for _, env := range container.Env {
		if strings.HasPrefix(env.Value, "/") {
			env.Value = filepath.Join(inside, env.Value)
			build = env.Value
		}
		command.Env = append(command.Env, env.Name+"="+env.Value)
	}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("in the pod: %v\n%s", err, out)
	}
	return readTree(t, build)
}

// TestThePodServesWhatMdBookBuilds holds the site of the pod against the one that
// mdBook builds in the project itself.
func TestThePodServesWhatMdBookBuilds(t *testing.T) {
	const edit = "edit-url-template = 'https://example.com/edit/{path}'\n"
	tests := map[string]struct {
		files   map[string]string
		project string
		toml    string   // the view's bookToml
		built   string   // the build folder, if not book
		hidden  []string // files that aren't published
	}{
		"the source folder of the view's bookToml": {
			files: map[string]string{
				"book.toml":          "[book]\nsrc = 'src/en'\n[output.html]\n" + edit,
				"src/en/SUMMARY.md":  "- [A](a.md)\n",
				"src/en/a.md":        "# English",
				"src/ja/SUMMARY.md":  "- [A](a.md)\n",
				"src/ja/a.md":        "# 日本語 ![](a.png)\n{{#include ../en/a.md}}",
				"src/ja/a.png":       "\x89PNG",
				"src/ja/out/old.txt": "built",
				"theme/head.hbs":     "<!-- head -->",
			},
			project: ".",
			built:   "src/ja/out",
			toml:    "[book]\nsrc = 'src/ja'\n[build]\nbuild-dir = 'src/ja/out'\n[output.html]\n" + edit,
		},
		"files from beside the project": {
			files: map[string]string{
				"docs/guide/book.toml":      "[output.html]\nadditional-css = ['../ferris.css', '../../css/x.css', 'assets/../own.css', 'assets/../../up.css']\nadditional-js = ['../x.js']\ntheme = '../look'\ninput-404 = '../../404.md'\n" + edit,
				"docs/guide/own.css":        ".o{}",
				"docs/guide/assets/a.png":   "",
				"docs/up.css":               ".u{}",
				"docs/guide/src/SUMMARY.md": "- [A](a.md)\n- [B](b/b.md)\n",
				"docs/guide/src/a.md":       "# A\n{{#include ../../../CHANGELOG.md}}\n{{#include ../../guide/book.toml}}\n{{#include ../../../../out.md}}\n{{#include ../gone/../own.css}}\n{{#include ../assets/../own.css}}",
				"docs/guide/src/b/b.md":     "# B\n{{#rustdoc_include ../../../lib.rs:x}}\n{{#playground ../../../../docs/lib.rs}}",
				"docs/lib.rs":               "fn a() {}\n// ANCHOR: x\nfn x() {}\n// ANCHOR_END: x\n{{#include more.rs}}",
				"docs/more.rs":              "fn more() {}",
				"CHANGELOG.md":              "# Changes\n{{#include docs/lib.rs}}",
				"docs/ferris.css":           ".f{}",
				"css/x.css":                 ".x{}",
				"docs/x.js":                 "x()",
				"docs/look/head.hbs":        "<!-- look -->",
				"docs/look/fonts/fonts.css": "/* fonts */",
				"docs/look/fonts/f.woff2":   "font",
				"docs/404.md":               "# Nowhere",
			},
			project: "docs/guide",
		},
		"a source folder beside the project": {
			files: map[string]string{
				"book/book.toml":  "[book]\nsrc = '../text'\n[output.html]\n" + edit,
				"text/SUMMARY.md": "- [A](a.md)\n",
				"text/a.md":       "# A ![](a.png)\n{{#include ../book/book.toml}}\n{{#include ../README.md}}",
				"text/a.png":      "png",
				"README.md":       "read me",
			},
			project: "book",
		},
		"a source folder that is a link, and includes from behind it": {
			files: map[string]string{
				"p/book.toml":     "",
				"p/src":           "-> ../text",
				"p/README.md":     "not this one",
				"text/SUMMARY.md": "- [A](a.md)\n",
				"text/a.md":       "# A\n{{#include ../README.md}}\n{{#include ../p/book.toml}}",
				"README.md":       "this one",
			},
			project: "p",
		},
		"the root as source folder": {
			files: map[string]string{
				"book.toml":      "[book]\nsrc = '.'\n[output.html]\nadditional-css = ['css/x.css']\n" + edit,
				"SUMMARY.md":     "- [A](a.md)\n",
				"a.md":           "# A\n<link href='css/x.css'> ![](theme/logo.svg)\n{{#include book.toml}}",
				"css/x.css":      ".x{}",
				"css/y.css":      ".y{}",
				"theme/head.hbs": "<!-- head -->",
				"theme/logo.svg": "<svg/>",
				".hidden":        "",
				".gitignore":     "book\n",
				"book/old.html":  "",
			},
			project: ".",
			hidden:  []string{".gitignore"},
		},
		"the root as source folder, in a folder": {
			files: map[string]string{
				"docs/book.toml":  "[book]\nsrc = './'\n[output.html]\ninput-404 = 'lost.md'\n" + edit,
				"docs/SUMMARY.md": "- [A](b/a.md)\n",
				"docs/b/a.md":     "# A\n{{#include ../../LICENSE}}",
				"docs/lost.md":    "# Lost",
				"LICENSE":         "MIT",
			},
			project: "docs",
		},
		"large files, and a folder that a path leads through": {
			files: map[string]string{
				"p/book.toml":        "[output.html]\nadditional-js = ['mermaid.min.js', 'assets/../../large.js']\n",
				"p/mermaid.min.js":   "//" + strings.Repeat("mermaid ", 400_000),
				"p/assets/x.png":     "",
				"p/src/SUMMARY.md":   "- [A](a.md)\n",
				"p/src/a.md":         "# A ![](img/shot.png)\n{{#include ../../large.txt:3}}",
				"p/src/img/shot.png": noise(1, 3_000_000),
				"large.js":           "//" + strings.Repeat("large ", 400_000),
				"large.txt":          strings.Repeat("line of text\n", 100_000),
			},
			project: "p",
		},
		"a source folder that holds the project": {
			files: map[string]string{
				"r/docs/book.toml": "[book]\nsrc = '..'\n[build]\nbuild-dir = '../../site'\n[output.html]\nadditional-js = ['x.js']\n" + edit,
				"r/docs/x.js":      "x()",
				"r/docs/y.txt":     "y",
				"r/SUMMARY.md":     "- [A](a.md)\n",
				"r/a.md":           "# A\n{{#include docs/y.txt}}\n{{#include docs/x.js}}",
			},
			project: "r/docs",
			built:   "../../site",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			program := mdbook(t)
			folder := t.TempDir()
			writeTree(t, folder, test.files)
			spec := fmt.Sprintf("{contentFrom: [{directory: {path: %s}}]", test.project)
			if test.toml != "" {
				spec += fmt.Sprintf(", bookToml: %q", test.toml)
			}
			got := runIn(t, folder, generatorInput(spec+"}"))
			if got.err != nil {
				t.Fatal(got.err)
			}
			site := parse(t, got.out).site(t, t.TempDir())

			project := filepath.Join(folder, test.project)
			if test.toml != "" {
				writeTree(t, project, map[string]string{"book.toml": test.toml})
			}
			command := exec.CommandContext(t.Context(), program, "build")
			command.Dir = project
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want := readTree(t, filepath.Join(project, cmp.Or(test.built, "book")))
			for _, name := range test.hidden {
				delete(want, name)
			}
			if diff := gocmp.Diff(want, site); diff != "" {
				t.Error(diff)
			}
		})
	}
}
