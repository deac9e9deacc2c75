package summary

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/zoetrope/markdown-view/generator/mdbook"
)

// Check holds the chapters against the book's files: their contents by slash
// path relative to the book's root, where src is the folder that holds
// SUMMARY.md. With an empty src the paths are relative to that folder itself.
//
// The error is a [diagnostic.List] and holds every fault. A chapter's page must
//
//   - exist, spelled as on a file system that tells small letters from capital
//     ones; be a file; be UTF-8 text: mdBook reads it with read_to_string.
//     Any ending will do: notes.txt is rendered as Markdown to notes.html.
//   - lie in src, and be named by a path that doesn't leave it. mdBook reads
//     ../x.md too if it is there, but then writes its HTML outside of the
//     site, which fails on the read-only root of a pod.
//   - not be print.md, which mdBook keeps for itself ("reserved for internal use").
//   - not be rendered to a file whose name is a folder's in the site.
//
// And there must be a page at all: without one mdBook succeeds, but writes no
// index.html, and the front page, which the probes ask for, is 404.
func (s *Summary) Check(files map[string][]byte, src string) error {
	return append(s.checkChapters(newTree(files, src)), s.checkFront()...).err()
}

// checkFront finds that there is nothing to make the front page of.
func (s *Summary) checkFront() faults {
	const front = "so mdBook writes no index.html and the book has no front page"
	var errs faults
	var draft *Chapter
	for c := range s.Chapters() {
		if !c.Draft() {
			return nil
		}
		if draft == nil {
			draft = c
		}
	}
	switch {
	case draft != nil:
		errs.add(draft.Line, "all chapters are drafts, %s: give one a page, like [%s](page.md)", front, draft.Name)
	case len(s.Ignored) > 0:
		errs.add(s.Ignored[0].Line, "mdBook passes over this link and finds no chapter, %s: make it a list item, like - [Introduction](introduction.md)", front)
	case s.Code > 0:
		errs.add(s.Code, "it has no chapter, %s: mdBook takes this for code, because it is indented by a tab or four spaces, or fenced: unindent it", front)
	default:
		errs.add(0, "it has no chapter, %s: add one, like - [Introduction](introduction.md)", front)
	}
	return errs
}

func (s *Summary) checkChapters(t *tree) faults {
	var errs faults
	var rendered []*Chapter
	for c := range s.Chapters() {
		if c.Draft() {
			continue
		}
		if fault := t.fault(c.Location); fault != "" {
			errs.add(c.Line, "chapter %q links to %s, %s", c.Name, c.Location, fault)
			continue
		}
		rendered = append(rendered, c)
		addParents(t.site, c.HTML())
	}
	return append(errs, t.clashes(rendered)...)
}

// tree is the src folder.
type tree struct {
	files   map[string][]byte // by path relative to src
	folders map[string]bool
	site    map[string]bool   // the folders that mdBook will make in the site
	lower   map[string]string // from a path in small letters to a file; made when needed
}

func newTree(files map[string][]byte, src string) *tree {
	t := &tree{files: map[string][]byte{}, folders: map[string]bool{}, site: map[string]bool{}}
	src = path.Clean(src)
	for name, content := range files {
		name, ok := below(src, name)
		if !ok {
			continue
		}
		t.files[name] = content
		addParents(t.folders, name)
		if !mdbook.IsPage(name) {
			addParents(t.site, name)
		}
	}
	return t
}

// below makes a path relative to a folder, if it lies in there.
func below(folder, name string) (string, bool) {
	if folder == "." {
		return name, true
	}
	return strings.CutPrefix(name, folder+"/")
}

func addParents(folders map[string]bool, name string) {
	for name = path.Dir(name); name != "." && name != "/" && !folders[name]; name = path.Dir(name) {
		folders[name] = true
	}
}

// fault says what keeps mdBook from reading a chapter's location, as the end of
// a sentence; empty if nothing does.
func (t *tree) fault(location string) string {
	name, end := t.resolve(location)
	content, exists := t.files[name]
	switch {
	case end == outside && strings.HasPrefix(location, "/"):
		return t.absent(location, "which begins with /, but paths are relative to "+FileName, "move the page into the book's src folder")
	case end == outside:
		return t.absent(location, "which is outside the book's src folder", "move the page into it")
	case end == folder:
		return "which is a folder: link to a page in it"
	case end == nowhere || !exists:
		if isURL(location) {
			return "which mdBook takes for a file's name: a chapter is a page of the book, so make one that links there"
		}
		return t.absent(location, "which is not among the pages", "add the page or remove the line")
	case name == mdbook.ReservedPage:
		return "a name that mdBook keeps for the page that it makes for printing: rename the page"
	case !mdbook.CanRender(name):
		return "of whose name mdBook makes .., a folder: rename the page"
	case !utf8.Valid(content):
		return "which is not UTF-8 text: save it as UTF-8, or link to it from a page if it is no page"
	}
	return ""
}

func isURL(location string) bool {
	return strings.Contains(location, "://") || strings.HasPrefix(location, "mailto:")
}

// ending is where a path leads.
type ending int

const (
	file ending = iota // or nothing: the path is well-formed
	folder
	nowhere // it goes through a folder that doesn't exist
	outside
)

// resolve follows a path as the operating system does, so that nowhere/../a.md
// and a.md/ lead nowhere.
func (t *tree) resolve(location string) (string, ending) {
	if strings.HasPrefix(location, "/") {
		return "", outside
	}
	at := "."
	for i, part := range strings.Split(location, "/") {
		if i > 0 && at != "." && !t.folders[at] {
			return "", nowhere
		}
		switch part {
		case "", ".":
		case "..":
			if at == "." {
				return "", outside
			}
			at = path.Dir(at)
		default:
			at = path.Join(at, part)
		}
	}
	if at == "." || t.folders[at] {
		return at, folder
	}
	return at, file
}

// clashes finds files of the site whose names are folders' too: mdBook fails
// half-way through writing it.
func (t *tree) clashes(chapters []*Chapter) faults {
	var errs faults
	for _, c := range chapters {
		if t.site[c.HTML()] {
			errs.add(c.Line, "chapter %q links to %s, which mdBook writes to %s, but the book has a folder of that name: rename one of them",
				c.Name, c.Location, c.HTML())
		}
	}
	for _, name := range mdbook.SitePages {
		if t.site[name] {
			errs.add(0, "the folder %s has the name of a page that mdBook writes: rename the folder", name)
		}
	}
	for _, name := range mdbook.SiteFolders {
		if _, ok := t.files[name]; ok {
			errs.add(0, "the file %s has the name of a folder that mdBook writes: rename the file", name)
		}
	}
	return errs
}

// HTML is the page's file in the site that mdBook writes. Empty for a draft. Two
// chapters can have the same; then mdBook shows the later one only.
func (c *Chapter) HTML() string {
	if c.Draft() {
		return ""
	}
	return mdbook.HTML(c.Path())
}
