package generator

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/directory"
	"github.com/zoetrope/markdown-view/generator/links"
	"github.com/zoetrope/markdown-view/generator/mdbook"
	"github.com/zoetrope/markdown-view/generator/summary"
)

// maxVolumeBytes is the most that the names of a book's files may take in the
// pod's volume, in bytes: a Deployment has to fit into one etcd value of 1.5 MiB.
const maxVolumeBytes = 1 << 20

// checker collects what is wrong with a view and its book.
type checker struct {
	view     *v1.MarkdownView
	contents []Content
	book     book.Book
	config   book.Config
	layout   layout
	problems []Problem
	warnings []Problem
}

// check applies every rule, so that a user sees all faults at once.
func check(view *v1.MarkdownView, b book.Book, contents []Content) *checker {
	c := &checker{view: view, contents: contents, book: b}
	for _, err := range view.Validate() {
		c.problems = append(c.problems, Problem{Field: err.Field, Message: strings.TrimPrefix(err.Error(), err.Field+": ")})
	}
	c.parseConfig()
	c.layout = arrange(b, c.config)
	c.checkConfig()
	c.checkSizes()
	c.checkTools()
	c.checkIncluded()
	c.checkPaths()
	c.checkSummary()
	return c
}

func (c *checker) checkSizes() {
	total, names := 0, 0
	const item = len(`{"key":"","path":""},`)
	for _, p := range c.layout.folderItems() {
		names += item + len(revisionKey(digest(nil))) + len(p)
	}
	for _, e := range c.layout.stored() {
		names += item + len(e.key) + len(e.path)
	}
	for _, p := range c.layout.large {
		names += 2*len(p) + len(`"/pages/parts/00","/book","/book",`)
	}
	for _, e := range c.layout.entries {
		total += len(e.content)
		if len(e.content) > book.MaxFileBytes {
			c.add(e.name, 0, "has %d bytes, may have at most %d: split the page or shrink the image", len(e.content), book.MaxFileBytes)
		}
	}
	count := len(c.layout.entries)
	switch {
	case total > book.MaxBookBytes:
		c.addToBook("the book has %d bytes, may have at most %d: leave out what isn't part of it, or split it into several views", total, book.MaxBookBytes)
	case count > book.MaxFiles:
		c.addToBook("the book has %d files, may have at most %d: leave out what isn't part of it, or split it into several views", count, book.MaxFiles)
	case names > maxVolumeBytes:
		c.addToBook("the names of the book's %d files take %d bytes in the pod's volume, may take at most %d: use fewer files or shorter names", count, names, maxVolumeBytes)
	}
}

// checkTools warns of what an image needs so that pods can assemble large files.
func (c *checker) checkTools() {
	if len(c.layout.large) == 0 || c.usesDefaultImage() {
		return
	}
	at := slices.IndexFunc(c.layout.entries, func(e entry) bool { return e.path == c.layout.large[0] })
	file, others := c.layout.entries[at].name, ""
	if more := len(c.layout.large) - 1; more > 0 {
		others = fmt.Sprintf(" (and of %d more files)", more)
	}
	c.warnings = append(c.warnings, Problem{
		Field: fieldOf(c.view, c.contents, file), File: file,
		Message: fmt.Sprintf("no ConfigMap can hold it in one piece, so pods assemble it: because of it%s the image %s needs %s", others, c.view.Spec.ViewerImage, AssemblyTools),
	})
}

// checkPaths finds files that can't all be there: two of the same path in the
// pod's volume, one where another needs a folder, and one where a revision key is
// projected to.
func (c *checker) checkPaths() {
	var entries []entry
	for _, e := range c.layout.entries {
		if book.ValidatePath(e.name) != nil {
			continue // it is at fault already
		}
		if err := v1.ValidateVolumePath(e.path); err != nil {
			c.add(e.name, 0, "is at %s in the book's root folder, a path that %v", e.path, err)
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	at := make(map[string]entry, len(entries))
	for _, e := range entries {
		if other, taken := at[e.path]; taken {
			c.add(e.name, 0, "and %s are both at %s in the book's root folder: rename one of them", other.name, e.path)
		}
		at[e.path] = e
		if !c.layout.flat && strings.HasPrefix(e.path, revisionFile) {
			c.add(e.name, 0, "names in the book's root folder that start with %q are reserved: rename it", revisionFile)
		}
	}
	for _, folder := range c.layout.folders {
		entries = append(entries, entry{name: "a path through it", path: path.Join(folder, revisionFile+mdbook.PageEnding)})
	}
	blamed := map[string]bool{}
	for _, e := range entries {
		for folder := path.Dir(e.path); folder != "." && folder != "/"; folder = path.Dir(folder) {
			if file, isFile := at[folder]; isFile && !blamed[folder] {
				blamed[folder] = true
				c.add(file.name, 0, "is a file, but %s needs a folder of that name: rename one of them", e.name)
			}
		}
	}
}

func (c *checker) checkSummary() {
	if len(c.view.Spec.Markdowns) == 0 && len(c.view.Spec.ContentFrom) == 0 {
		return // the view itself is at fault, and says so
	}
	s, err := summary.Load(c.book.Pages, "")
	if err == nil {
		made := c.checkRedirects(s)
		c.checkSearch(s)
		c.checkTheme(len(made) > 0)
		if len(c.problems) == 0 {
			tree := c.tree()
			c.checkLinks(s, tree, made)
			c.measure(s, tree)
		}
	}
	if faults, ok := errors.AsType[summary.Errors](err); ok {
		for _, fault := range faults {
			c.add(book.SummaryPath, fault.Line, "%s", fault.Message)
		}
	} else if err != nil {
		c.add(book.SummaryPath, 0, "%v", err)
	}
}

// tree are the files of a book by the paths that messages have: from the book's root
// where no file is outside of it.
type tree struct {
	files  map[string][]byte
	names  map[string]string
	source string
}

func (c *checker) tree() tree {
	t := tree{files: make(map[string][]byte, len(c.layout.entries)), names: make(map[string]string, len(c.layout.entries)), source: c.layout.source}
	within := c.layout.root + "/"
	if c.layout.root == "" || slices.ContainsFunc(c.layout.entries, func(e entry) bool { return !strings.HasPrefix(e.path, within) }) {
		within = ""
	}
	for _, e := range c.layout.entries {
		p := strings.TrimPrefix(e.path, within)
		t.files[p], t.names[p] = e.content, e.name
	}
	if within != "" {
		t.source = path.Join(".", strings.TrimPrefix(t.source+"/", within))
	}
	return t
}

// checkLinks warns of what leads nowhere. redirects are the pages that redirect.
func (c *checker) checkLinks(s *summary.Summary, t tree, redirects []string) {
	options := links.Options{Pages: redirects, NoIncludes: !c.config.ExpandsIncludes, LinksChange: len(c.changingPreprocessors()) > 0, Absent: c.absent}
	for _, warning := range links.Check(t.files, t.source, s, options) {
		name := t.names[warning.File]
		c.warnings = append(c.warnings, Problem{
			Field: fieldOf(c.view, c.contents, name), File: name, Line: warning.Line, Message: warning.Message, Kind: warning.Kind,
		})
	}
}

// absent says why a file isn't in the book that a page includes: it is of those that
// folders are read without.
func (c *checker) absent(file string) string {
	for i, source := range c.view.Spec.ContentFrom {
		pattern := directory.LeftOut(file)
		switch {
		case pattern == "" || source.Directory == nil && source.SourceRef == nil:
			continue
		case strings.EqualFold(pattern, ".git/"):
			return "is git's own data, which is never read"
		case source.Directory != nil:
			return fmt.Sprintf("is left out by default (write !%s into spec.contentFrom[%d].directory.ignore to have it, if it is there)", pattern, i)
		default:
			return "is left out by default"
		}
	}
	return ""
}

// add notes a problem of one file.
func (c *checker) add(file string, line int, format string, args ...any) {
	c.problems = append(c.problems, Problem{
		Field: fieldOf(c.view, c.contents, file), File: file, Line: line, Message: fmt.Sprintf(format, args...),
	})
}

// addToBook notes a problem of the book as a whole.
func (c *checker) addToBook(format string, args ...any) {
	c.problems = append(c.problems, Problem{Field: "spec", Message: fmt.Sprintf(format, args...)})
}

// warnOfBook notes a warning about the book as a whole.
func (c *checker) warnOfBook(format string, args ...any) {
	c.warnings = append(c.warnings, Problem{Field: "spec", Message: fmt.Sprintf(format, args...)})
}
