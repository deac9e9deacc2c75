package generator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// Programs of the project aren't in the pod, whatever the image is.
func TestProgramsOfTheProject(t *testing.T) {
	const (
		advice = ": install it on the PATH of an image of your own, name it without a path in command, and set viewerImage to the image; " +
			"or commit the pages as it makes them, and drop the table"
		fails   = ", so that mdBook fails" + advice
		without = ", so that mdBook goes on without it and pages are served as they are" + advice
		either  = ", so that mdBook fails, or goes on without the preprocessor and pages are served as they are" + advice
	)
	tests := map[string]struct{ toml, want string }{
		"a program of the project": {
			toml: "[preprocessor.x]\ncommand = './litgo.sh'",
			want: "[preprocessor.x] runs ./litgo.sh, a file of the project that can't be run in the pod" + fails,
		},
		"a program of the project that is optional": {
			toml: "[preprocessor.x]\noptional = true\ncommand = 'tools/litgo --quick'",
			want: "[preprocessor.x] runs tools/litgo, a file of the project that can't be run in the pod" + without,
		},
		"a program that is in the book, but can't be executed": {
			toml: "[preprocessor.x]\ncommand = 'src/run.sh'\noptional = true",
			want: "[preprocessor.x] runs src/run.sh, a file of the project that can't be run in the pod" + fails,
		},
		"a script of the project": {
			toml: "[preprocessor.x]\ncommand = 'python3 v.py --x'",
			want: "[preprocessor.x] runs python3 with v.py, a file of the project that isn't in the pod" + either,
		},
		"a script of the project for a renderer": {
			toml: "[output.html]\n[output.x]\ncommand = \"'node' '../x.js'\"",
			want: "[output.x] runs node with ../x.js, a file of the project that isn't in the pod" + fails,
		},
		"cargo": {
			toml: "[preprocessor.x]\ncommand = 'cargo run --quiet --manifest-path helper/Cargo.toml'",
			want: "[preprocessor.x] runs cargo with helper/Cargo.toml, a file of the project that isn't in the pod" + either,
		},
		"a script that is in the book":      {toml: "[preprocessor.x]\ncommand = 'python3 src/run.py'"},
		"a program and script of the image": {toml: "[preprocessor.x]\ncommand = '/usr/bin/python3 /opt/x.py'\n[preprocessor.y]"},
		"a program for another renderer":    {toml: "[preprocessor.x]\ncommand = './litgo.sh'\nrenderers = ['pdf']"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, image := range []string{"", "example.com/mdbook"} {
				view := newView("a", withPages(map[string]string{"a.md": "", "run.sh": "", "run.py": ""}))
				view.Spec.BookToml, view.Spec.ViewerImage = test.toml, image
				var want []string
				if test.want != "" {
					want = []string{test.want}
				}
				var got []string
				for _, w := range mustGenerate(t, view).Warnings {
					// What the default image lacks is another test's.
					if !strings.Contains(w.Message, " needs the program ") {
						got = append(got, w.Message)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("image %q: %s", image, diff)
				}
			}
		})
	}
}

// Where an unknown program changes pages, nothing can be said of their links.
func TestLinksThatProgramsMayChange(t *testing.T) {
	const dead = "a.md:1: the link to gone.html leads nowhere: the book has no such file"
	tests := map[string]struct {
		toml, image string
		checked     bool
	}{
		"no program":                                   {checked: true},
		"no program in another image":                  {image: "example.com/mdbook", checked: true},
		"a program of the default image":               {toml: "[preprocessor.mermaid]", checked: true},
		"a program that doesn't change links":          {toml: "[preprocessor.toc]", image: "example.com/mdbook", checked: true},
		"a program of another image":                   {toml: "[preprocessor.wikilinks]", image: "example.com/mdbook"},
		"a program that the default image lacks":       {toml: "[preprocessor.wikilinks]"},
		"a program that mdBook can do without":         {toml: "[preprocessor.wikilinks]\noptional = true", checked: true},
		"one that another image may have":              {toml: "[preprocessor.wikilinks]\noptional = true", image: "example.com/mdbook"},
		"a program for another renderer":               {toml: "[preprocessor.wikilinks]\nrenderers = ['pdf']", image: "example.com/mdbook", checked: true},
		"a program that comes after those of an image": {toml: "[preprocessor.toc]\n[preprocessor.x]", image: "example.com/mdbook"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := newView("a", withPages(map[string]string{"a.md": "[1](gone.html)"}))
			view.Spec.BookToml, view.Spec.ViewerImage = test.toml, test.image
			checked := false
			for _, w := range mustGenerate(t, view).Warnings {
				checked = checked || strings.HasSuffix(w.String(), dead)
			}
			if checked != test.checked {
				t.Errorf("checked: %v", checked)
			}
		})
	}
}

func TestManyWarningsAreOne(t *testing.T) {
	page := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "[x](%d.html) {{#include %d.txt}}\n", i, i)
		}
		return b.String()
	}
	view := newView("a", withPages(map[string]string{"a.md": page(6), "b.md": "[x](y.html)"}))
	output := mustGenerate(t, view)
	want := []string{
		"spec.markdowns: 6 includes fail, such as a.md:1: {{#include 0.txt}}: the book has no file 0.txt, so mdBook leaves this text in the page (fn --all-warnings lists them all)",
		"spec.markdowns: 7 links and images lead nowhere, such as a.md:1: the link to 0.html leads nowhere: the book has no such file (fn --all-warnings lists them all)",
	}
	if diff := cmp.Diff(want, mapped(output.Warnings, Problem.String)); diff != "" {
		t.Error(diff)
	}
	if n := len(output.AllWarnings); n != 13 {
		t.Errorf("%d warnings", n)
	}
	few := mustGenerate(t, newView("a", withPages(map[string]string{"a.md": page(5)})))
	if diff := cmp.Diff(few.AllWarnings, few.Warnings); diff != "" || len(few.Warnings) != 10 {
		t.Error(diff)
	}
}

func TestIncludesOfWhatIsLeftOut(t *testing.T) {
	const end = ", so mdBook leaves this text in the page"
	view := newView("a", nil)
	content := fromFolder(map[string]string{"SUMMARY.md": "- [A](a.md)\n",
		"a.md": "{{#include ../.gitignore}}\n{{#include ../.idea/x.xml}}\n{{#include ../.git/config}}\n{{#include ../.gitkeep}}\n"}, nil, "[book]\n")
	view.Spec.ContentFrom = []v1.ContentSource{{Directory: &v1.DirectorySource{Path: "docs"}}}
	want := []string{
		"a.md:1: {{#include ../.gitignore}}: .gitignore is left out by default (write !.gitignore into spec.contentFrom[0].directory.ignore to have it, if it is there)" + end,
		"a.md:2: {{#include ../.idea/x.xml}}: .idea/x.xml is left out by default (write !.idea/ into spec.contentFrom[0].directory.ignore to have it, if it is there)" + end,
		"a.md:3: {{#include ../.git/config}}: .git/config is git's own data, which is never read" + end,
		"a.md:4: {{#include ../.gitkeep}}: the book has no file .gitkeep" + end,
	}
	got := func() []string {
		output, err := Generate(view, []Content{content})
		if err != nil {
			t.Fatal(err)
		}
		return mapped(output.Warnings, func(p Problem) string { return strings.TrimPrefix(p.String(), p.Field+": ") })
	}
	if diff := cmp.Diff(want, got()); diff != "" {
		t.Error(diff)
	}
	view.Spec.ContentFrom = []v1.ContentSource{{SourceRef: &v1.SourceReference{Kind: "GitRepository", Name: "docs"}}}
	for i := range 2 {
		want[i], _, _ = strings.Cut(want[i], " (write")
		want[i] += end
	}
	if diff := cmp.Diff(want, got()); diff != "" {
		t.Error(diff)
	}
}
