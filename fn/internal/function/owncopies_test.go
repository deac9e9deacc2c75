package function

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func lines(t *testing.T, folder string, after ...func(*yaml.RNode)) []string {
	t.Helper()
	var lines []string
	for _, result := range render(t, folder, after...) {
		if line := Line(result); !strings.Contains(line, "selects the pods of") { // which is so where two have the same labels
			lines = append(lines, line)
		}
	}
	return lines
}

// edited replaces in a file of a folder, and fails where there is nothing to replace.
func edited(t *testing.T, folder, file string, oldNew ...string) string {
	t.Helper()
	text := readFolder(t, folder)[file]
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(text, oldNew[i]) {
			t.Fatalf("%s has no %q:\n%s", file, oldNew[i], text)
		}
		text = strings.ReplaceAll(text, oldNew[i], oldNew[i+1])
	}
	return text
}

func moveFile(t *testing.T, folder, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(folder, from), filepath.Join(folder, to)); err != nil {
		t.Fatal(err)
	}
}

func wantSaid(t *testing.T, want, said []string) {
	t.Helper()
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("says (-want +got):\n%s", diff)
	}
}

func ofKind(lines []string, kind string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, ": "+kind+" ") })
}

const (
	inDeployment = "deployment_viewer-x.yaml"
	isLeft       = ": metadata.name: is left as it is, though its labels and file are those of Deployment viewer-x of MarkdownView x: remove it if it was that one once; if it is your own, give it other labels"
)

// somebodysCopy is a Deployment in the file of a generated one.
type somebodysCopy struct {
	after       []func(*yaml.RNode)
	asGenerated string
	metadata    string
	first       bool // in the file
	without     bool // the view, after a while
	want        []string
	says, later []string
}

// besideRenamed is a copy behind what a function has given a name, beforeRenamed before it.
func besideRenamed(function func(*yaml.RNode), renamed, name string) somebodysCopy {
	return somebodysCopy{
		after: []func(*yaml.RNode){function}, asGenerated: "  name: " + renamed + "\n", metadata: "  name: " + name + "\n",
		want: []string{"docs/" + renamed, "docs/" + name},
		says: []string{"warning: Deployment docs/" + name + " (" + inDeployment + ")" + isLeft},
	}
}

func beforeRenamed(function func(*yaml.RNode), renamed, name string) somebodysCopy {
	c := besideRenamed(function, renamed, name)
	c.first, c.want = true, []string{"docs/" + name, "docs/" + renamed}
	return c
}

func TestSomebodysCopyInAGeneratedFileStays(t *testing.T) {
	prefix := unlessLocal(addPrefix)
	long := unlessLocal(func(node *yaml.RNode) { // but what is a person's
		if name := node.GetName(); !strings.Contains(name, "production-") && !strings.HasSuffix(name, "-b") {
			_ = node.SetName("production-" + name)
		}
	})
	for name, test := range map[string]somebodysCopy{
		"in another namespace": {
			asGenerated: "  name: viewer-x\n  namespace: docs\n", metadata: "  name: viewer-x-staging\n  namespace: staging\n",
			want: []string{"docs/viewer-x", "staging/viewer-x-staging"},
			says: []string{"warning: Deployment staging/viewer-x-staging (" + inDeployment + ")" + isLeft},
		},
		"of a view that goes": {
			asGenerated: "  name: viewer-x\n", metadata: "  name: viewer-x-canary\n", without: true,
			want: []string{"docs/viewer-x-canary"},
			says: []string{
				"warning: Deployment docs/viewer-x-canary (" + inDeployment + ")" + isLeft,
				"info: removed what was generated from MarkdownView docs/x, which is no longer among the resources: ConfigMap markdowns-x, Deployment viewer-x, Service viewer-x",
			},
			later: []string{"warning: Deployment docs/viewer-x-canary (" + inDeployment + ")" + isLeft},
		},
		"beside what a function renames":                   besideRenamed(prefix, "dev-viewer-x", "dev-viewer-x-canary"),
		"before what a function renames":                   beforeRenamed(prefix, "dev-viewer-x", "dev-viewer-x-canary"),
		"with a shorter name than what a function renames": besideRenamed(long, "production-viewer-x", "viewer-x-b"),
		"before it, with a shorter name":                   beforeRenamed(long, "production-viewer-x", "viewer-x-b"),
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			writeFiles(t, folder, map[string]string{"x.yaml": smallView("x", "docs"), "z.yaml": smallView("z", "other")})
			render(t, folder, test.after...)
			generated := readFolder(t, folder)[inDeployment]
			mine := edited(t, folder, inDeployment, test.asGenerated, test.metadata, "replicas: 1", "replicas: 7")
			both := generated + "---\n" + mine
			if test.first {
				both = mine + "---\n" + generated
			}
			writeFiles(t, folder, map[string]string{inDeployment: both})
			if test.without {
				if err := os.Remove(filepath.Join(folder, "x.yaml")); err != nil {
					t.Fatal(err)
				}
			}
			if test.later == nil {
				test.later = test.says
			}
			for _, says := range [][]string{test.says, test.later, test.later} {
				wantSaid(t, says, lines(t, folder, test.after...))
				var want []string
				for _, object := range test.want {
					want = append(want, inDeployment+": Deployment "+object)
				}
				got := slices.DeleteFunc(objectLines(t, folder), func(line string) bool { return !strings.HasPrefix(line, inDeployment) })
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("there are (-want +got):\n%s", diff)
				}
				if text := readFolder(t, folder)[inDeployment]; strings.Count(text, "replicas: 7") != 1 {
					t.Errorf("the copy has changed:\n%s", text)
				}
			}
		})
	}
}

// A person's new name looks as one of a function's.
func TestWhatIsReplacedUnderAnotherNameIsSaid(t *testing.T) {
	for name, test := range map[string]struct {
		edit []string
		says []string
	}{
		"with an edit": {[]string{"name: viewer-x\n", "name: my-viewer\n", "replicas: 1", "replicas: 7"}, []string{
			"info: MarkdownView docs/x (view.yaml): replaces what has the labels and the file of what it generates, but another name (in place of the one in brackets) and other content: Deployment my-viewer (viewer-x). " +
				"That is as it should be if a function after this one changes the names; what you renamed to keep it needs other labels, or a file of another name",
		}},
		"the name alone": {[]string{"name: viewer-x\n", "name: my-viewer\n"}, nil},
		"an edit alone":  {[]string{"replicas: 1", "replicas: 7"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			writeFiles(t, folder, map[string]string{"view.yaml": smallView("x", "docs")})
			render(t, folder)
			writeFiles(t, folder, map[string]string{inDeployment: edited(t, folder, inDeployment, test.edit...)})
			wantSaid(t, test.says, lines(t, folder))
			wantSaid(t, nil, lines(t, folder))
		})
	}
}

// A function may rename what others refer to, as well: nothing is lost then.
func TestReferencesThatAFunctionChangesAreNoEdit(t *testing.T) {
	after := unlessLocal(func(node *yaml.RNode) {
		addPrefix(node)
		if node.GetKind() != "Deployment" {
			return
		}
		text := node.MustString()
		text = strings.ReplaceAll(text, "name: markdowns-x\n", "name: dev-markdowns-x\n")
		node.SetYNode(yaml.MustParse(text).YNode())
	})
	folder := t.TempDir()
	writeFiles(t, folder, map[string]string{"view.yaml": smallView("x", "docs")})
	render(t, folder, after)
	if text := readFolder(t, folder)[inDeployment]; !strings.Contains(text, "name: dev-markdowns-x\n") {
		t.Fatalf("nothing refers to the ConfigMap:\n%s", text)
	}
	wantSaid(t, nil, lines(t, folder, after))
}

// Until what a function renames was found again, each render added a copy.
func TestCopiesOfEarlierReleasesGo(t *testing.T) {
	for name, after := range map[string]func(*yaml.RNode){
		"a prefix":                   unlessLocal(addPrefix),
		"a prefix and a namespace":   unlessLocal(func(node *yaml.RNode) { addPrefix(node); setNamespace(node) }),
		"a function that is gone":    unlessLocal(addPrefix),
		"a suffix, but for the view": unlessLocal(addSuffix),
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			writeFiles(t, folder, map[string]string{"view.yaml": smallView("x", "docs")})
			render(t, folder, after)
			for _, file := range []string{"configmap_markdowns-x.yaml", inDeployment, "service_viewer-x.yaml"} {
				text := readFolder(t, folder)[file]
				writeFiles(t, folder, map[string]string{file: text + "---\n" + text + "---\n" + text})
			}
			service := yaml.MustParse(strings.SplitN(readFolder(t, folder)["service_viewer-x.yaml"], "---\n", 2)[0]).GetName()
			deployment := yaml.MustParse(strings.SplitN(readFolder(t, folder)[inDeployment], "---\n", 2)[0]).GetName()
			now := after
			if name == "a function that is gone" {
				now = func(*yaml.RNode) {}
			}
			wantSaid(t, []string{"info: removed copies beside what is generated, of the same name and in the same file: " +
				strings.Join([]string{"Deployment " + deployment, "Deployment " + deployment, "Service " + service, "Service " + service}, ", ")}, lines(t, folder, now))
			if got := objectLines(t, folder); len(got) != 4 {
				t.Errorf("there are %q", got)
			}
			wantSaid(t, nil, lines(t, folder, now))
		})
	}
}

func TestAConfigMapMovedToAnotherFileStays(t *testing.T) {
	folder := t.TempDir()
	writeFiles(t, folder, map[string]string{"view.yaml": smallView("x", "docs")})
	render(t, folder, setNamespace)
	moveFile(t, folder, "configmap_markdowns-x.yaml", "pages.yaml")
	for range 3 {
		wantSaid(t, []string{"warning: ConfigMap prod/markdowns-x (pages.yaml): was generated from MarkdownView prod/x, which is not among the resources: remove it from its file, or, if a function after this one changes its namespace, move it into configmap_markdowns-x.yaml beside the view"},
			lines(t, folder, setNamespace))
		want := []string{"configmap_markdowns-x.yaml: ConfigMap prod/markdowns-x", "pages.yaml: ConfigMap prod/markdowns-x"}
		if diff := cmp.Diff(want, ofKind(objectLines(t, folder), "ConfigMap")); diff != "" {
			t.Errorf("there are (-want +got):\n%s", diff)
		}
	}
}

// A ConfigMap that a person renamed, where the view's own has gone.
func TestARenamedConfigMapIsNoShard(t *testing.T) {
	isLeft := func(file string) []string {
		return []string{"warning: ConfigMap docs/my-pages (" + file + "): metadata.name: is left as it is, though its labels and file are those of ConfigMap markdowns-x.1 of MarkdownView x: remove it if it was that one once; if it is your own, give it other labels"}
	}
	for name, test := range map[string]struct {
		file string
		says []string
	}{
		"in the first's file":   {"configmap_markdowns-x.yaml", nil},
		"in a further's file":   {"configmap_markdowns-x.1.yaml", isLeft("configmap_markdowns-x.1.yaml")},
		"in another's folder":   {"sub/configmap_markdowns-x.1.yaml", isLeft("sub/configmap_markdowns-x.1.yaml")},
		"in a file of its name": {"configmap_my-pages.yaml", nil},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			writeFiles(t, folder, map[string]string{"view.yaml": smallView("x", "docs")})
			render(t, folder)
			mine := edited(t, folder, "configmap_markdowns-x.yaml", "name: markdowns-x\n", "name: my-pages\n")
			generated := readFolder(t, folder)["configmap_markdowns-x.yaml"]
			writeFiles(t, folder, map[string]string{"configmap_markdowns-x.yaml": generated})
			if test.file == "configmap_markdowns-x.yaml" {
				mine = generated + "---\n" + mine
			}
			writeFiles(t, folder, map[string]string{test.file: mine})
			for range 2 {
				wantSaid(t, test.says, lines(t, folder))
				if got := ofKind(objectLines(t, folder), "ConfigMap"); len(got) != 2 {
					t.Errorf("there are %q", got)
				}
			}
		})
	}
}

func TestARenamedShardIsSaidByItsOwnName(t *testing.T) {
	for name, after := range map[string]func(*yaml.RNode){"a prefix": unlessLocal(addPrefix), "a suffix": unlessLocal(addSuffix)} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			pages := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: pages\n  annotations: {config.kubernetes.io/local-config: 'true'}\ndata:\n  big1.txt: " + strings.Repeat("x", 700<<10) + "\n  big2.txt: " + strings.Repeat("y", 700<<10) + "\n"
			writeFiles(t, folder, map[string]string{"view.yaml": kptView, "pages.yaml": pages})
			render(t, folder, after)
			moveFile(t, folder, "configmap_markdowns-handbook.1.yaml", "moved.yaml")
			said := strings.Join(lines(t, folder, after), "\n")
			if !strings.Contains(said, "was markdowns-handbook.1 when") || !strings.Contains(said, "move it into configmap_markdowns-handbook.1.yaml beside") {
				t.Errorf("says %s", said)
			}
		})
	}
}

// A view isn't given what a person has named as it will name its own.
func TestAViewTakesNobodysObject(t *testing.T) {
	folder := t.TempDir()
	writeFiles(t, folder, map[string]string{"view.yaml": smallView("x", "docs")})
	render(t, folder)
	mine := edited(t, folder, inDeployment, "name: viewer-x\n", "name: viewer-x-dev\n", "replicas: 1", "replicas: 7")
	writeFiles(t, folder, map[string]string{inDeployment: mine, "view.yaml": smallView("x-dev", "docs")})
	items, err := (&kio.LocalPackageReader{PackagePath: folder, PreserveSeqIndent: true}).Read()
	if err != nil {
		t.Fatal(err)
	}
	got := runIn(t, folder, packageInput(t, items))
	if want := "Deployment viewer-x-dev is among the resources already, in " + inDeployment; !IsFault(got.err) || !strings.Contains(got.out, want) {
		t.Errorf("%v\n%s", got.err, got.out)
	}
}
