package examples

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// treeURL is where this source tree is, for pages that are also read elsewhere: what
// follows is a path in it, after blob/main or tree/main.
const treeURL = "https://github.com/zoetrope/markdown-view"

// inTree returns the path that a link to treeURL names.
func inTree(destination string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(destination, treeURL+"/")
	if !ok {
		return "", false
	}
	for _, view := range []string{"blob/main/", "tree/main/", "edit/main/"} {
		if name, found := strings.CutPrefix(rest, view); found {
			return name, true
		}
	}
	return "", false
}

// target is where a link of the documentation leads: a path below the root of the source
// tree, and the anchor in it. ok is false for what isn't in the tree.
func target(from, destination string) (name, anchor string, ok bool) {
	destination, anchor, _ = strings.Cut(destination, "#")
	if name, ok := inTree(destination); ok {
		return name, anchor, true
	}
	switch {
	case strings.Contains(destination, ":"):
		return "", "", false
	case destination == "":
		return from, anchor, true
	}
	return path.Join(path.Dir(from), destination), anchor, true
}

func TestLinksInTheDocumentationLeadSomewhere(t *testing.T) {
	known := map[string]map[string]bool{} // anchors by page
	for _, p := range pages(t) {
		known[p.path] = p.anchors()
	}
	for _, p := range pages(t) {
		p.walk(func(n ast.Node) {
			var destination string
			switch n := n.(type) {
			case *ast.Link:
				destination = string(n.Destination)
			case *ast.Image:
				destination = string(n.Destination)
			default:
				return
			}
			name, anchor, ok := target(p.path, destination)
			if !ok {
				return
			}
			if fault := missing(name, anchor, known); fault != "" {
				t.Errorf("%s: link to %s: %s", p.path, destination, fault)
			}
		})
	}
}

// missing says what a link lacks; known are the anchors of pages.
func missing(name, anchor string, known map[string]map[string]bool) string {
	info, err := os.Stat(filepath.Join(repository, filepath.FromSlash(name)))
	switch {
	case err != nil:
		return err.Error()
	case anchor == "":
		return ""
	case info.IsDir() || known[name] == nil:
		return "anchors are known in pages of the documentation only"
	case !known[name][anchor]:
		return "there is no such heading"
	}
	return ""
}

// anchors are the ids that GitHub and mdBook give a page's headings.
func (p page) anchors() map[string]bool {
	ids := map[string]bool{}
	p.walk(func(n ast.Node) {
		heading, ok := n.(*ast.Heading)
		if !ok {
			return
		}
		id := slug(p.text(heading))
		unique := id
		for i := 1; ids[unique]; i++ {
			unique = fmt.Sprintf("%s-%d", id, i)
		}
		ids[unique] = true
	})
	return ids
}

// text is what a reader sees of a node.
func (p page) text(n ast.Node) string {
	var text strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			text.Write(t.Value(p.source))
		}
		return ast.WalkContinue, nil
	})
	return text.String()
}

func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsNumber(r):
			return unicode.ToLower(r)
		case r == '-', r == '_':
			return r
		case unicode.IsSpace(r):
			return '-'
		}
		return -1
	}, heading)
}
