package generator

import (
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/directory"
	"github.com/zoetrope/markdown-view/generator/links"
	"github.com/zoetrope/markdown-view/generator/mdbook"
	"github.com/zoetrope/markdown-view/generator/summary"
)

// maxVolumeBytes is the most that the names of a book's files may take in the
// pod's volume, in bytes: a Deployment has to fit into one etcd value of 1.5 MiB.
const maxVolumeBytes = 1 << 20

// checker compares a view's book, as it is laid out, with what mdBook and Kubernetes take.
type checker struct {
	view   *v1.MarkdownView
	book   merged
	config book.Config
	layout layout
	found  diagnostic.List
}

// check applies every rule, so that a user sees all faults at once, and adds to what was
// found before. It returns the book's chapters, as long as nothing is wrong with them.
func check(view *v1.MarkdownView, b merged, config book.Config, files layout, found diagnostic.List) (*summary.Summary, diagnostic.List) {
	c := &checker{view: view, book: b, config: config, layout: files, found: found}
	c.checkConfig()
	c.checkSizes()
	c.checkTools()
	c.checkIncluded()
	c.checkPaths()
	chapters, faults := readSummary(view, b)
	if chapters != nil {
		redirects := c.checkRedirects(chapters)
		c.checkSearch(chapters)
		c.checkTheme(len(redirects) > 0)
		if !c.found.Has(diagnostic.Error) {
			c.checkLinks(chapters, redirects)
		}
	}
	return chapters, append(c.found, faults...)
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
			c.add(e, "has %d bytes, may have at most %d: split the page or shrink the image", len(e.content), book.MaxFileBytes)
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
	others := ""
	if more := len(c.layout.large) - 1; more > 0 {
		others = fmt.Sprintf(" (and of %d more files)", more)
	}
	c.warn(c.layout.entries[at], "no ConfigMap can hold it in one piece, so pods assemble it: because of it%s the image %s needs %s", others, c.view.Spec.ViewerImage, AssemblyTools)
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
			c.add(e, "is at %s in the book's root folder, a path that %v", e.path, err)
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	at := make(map[string]entry, len(entries))
	for _, e := range entries {
		if other, taken := at[e.path]; taken {
			c.add(e, "and %s are both at %s in the book's root folder: rename one of them", other.name, e.path)
		}
		at[e.path] = e
		if !c.layout.flat && strings.HasPrefix(e.path, revisionFile) {
			c.add(e, "names in the book's root folder that start with %q are reserved: rename it", revisionFile)
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
				c.add(file, "is a file, but %s needs a folder of that name: rename one of them", e.name)
			}
		}
	}
}

// checkLinks warns of what leads nowhere. redirects are the pages that redirect.
func (c *checker) checkLinks(chapters *summary.Summary, redirects []string) {
	t := c.layout.tree()
	options := links.Options{Pages: redirects, NoIncludes: !c.config.ExpandsIncludes, LinksChange: len(c.changingPreprocessors()) > 0, Absent: c.absent}
	for _, warning := range links.Check(t.files, t.source, chapters, options) {
		at := t.entries[warning.File]
		warning.Field, warning.File = at.field, at.name
		c.found = append(c.found, warning)
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

// add notes an error in a file.
func (c *checker) add(e entry, format string, args ...any) {
	c.found = append(c.found, inFile(e, diagnostic.Error, 0, format, args...))
}

// warn notes a warning about a file.
func (c *checker) warn(e entry, format string, args ...any) {
	c.found = append(c.found, inFile(e, diagnostic.Warning, 0, format, args...))
}

func inFile(e entry, severity diagnostic.Severity, line int, format string, args ...any) Problem {
	return Problem{Severity: severity, Field: e.field, File: e.name, Line: line, Message: fmt.Sprintf(format, args...)}
}

// addToBook notes an error of the book as a whole.
func (c *checker) addToBook(format string, args ...any) {
	c.found = append(c.found, Problem{Field: specField, Message: fmt.Sprintf(format, args...)})
}
