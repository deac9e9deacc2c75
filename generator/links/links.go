// Package links finds what leads nowhere in the chapters of a book: links and
// images between pages, and files to include. mdBook 0.5.4 builds such a book
// nevertheless, so these are warnings.
//
// The package is pure: bytes in, warnings out. It may import goldmark, x/net/html, the
// packages of this folder that read SUMMARY.md and know mdBook, and the standard library
// only.
package links

import (
	"fmt"
	"path"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/summary"
	"github.com/zoetrope/markdown-view/generator/summary/commonmark"
)

// Kinds of warnings.
const (
	linksToNowhere = "links and images lead nowhere"
	brokenIncludes = "includes fail"
)

// Options are what is known of a book beside its files.
type Options struct {
	// Pages are what the site has beside what follows from the chapters and files,
	// such as pages that redirect: slash paths below the site's root.
	Pages []string
	// NoIncludes says that pages are rendered as they are, with their directives.
	NoIncludes bool
	// LinksChange says that programs change pages before they are rendered, so that
	// nothing can be said of links and images.
	LinksChange bool
	// Absent, unless nil, says why the book has no file of a path, as the end of a
	// sentence that begins with the path; "" if it isn't known.
	Absent func(path string) string
}

// What a book may include in total. Ten levels of a file that includes itself
// twice would come to a thousand times its size.
const (
	maxExpanded   = 32 << 20
	maxExpansions = 20_000
)

// Check looks through the chapters of a book for what leads nowhere. Files are
// the book's, by slash path relative to its root; src is the folder of
// SUMMARY.md, empty if the paths are relative to that. Only chapters are looked
// at, with all that they include: mdBook renders no other page.
//
// Warned about are
//
//   - relative links and images, in Markdown and in HTML, to what isn't in the
//     site that mdBook makes: pages that aren't chapters, files that don't exist
//     or lie outside of src. A README.md isn't in the site either: mdBook writes
//     it to index.html, but leaves links to it alone. On the front page, which
//     repeats the first chapter, links are relative to the site's root.
//     Other hosts, absolute paths and fragments aren't looked at.
//   - directives to include a file that doesn't exist, isn't text, is outside of
//     the book, or has no such anchor.
//   - chapters whose pages overwrite each other, and links in SUMMARY.md that
//     mdBook passes over.
//
// The warnings come in the order of the chapters and their lines. Their files are paths
// below the book's root.
func Check(files map[string][]byte, src string, s *summary.Summary, options Options) diagnostic.List {
	c := &checker{options: options, files: files, src: path.Clean(src), warned: map[diagnostic.Problem]bool{}, expanded: maxExpanded, expansions: maxExpansions}
	c.site = newSite(files, c.src, s)
	for _, page := range options.Pages {
		c.site.add(page)
	}
	c.summary(s)
	first := true
	for chapter := range s.Chapters() {
		file := path.Join(c.src, chapter.Path())
		if _, ok := files[file]; ok && !chapter.Draft() && !c.full() {
			c.chapter(file, path.Dir(chapter.Path()), first)
			first = false
		}
	}
	return c.warnings
}

// maxWarnings bounds the memory that warnings take: pages can hold a million links.
const maxWarnings = 10_000

type checker struct {
	options  Options
	files    map[string][]byte
	src      string
	site     *site
	warnings diagnostic.List
	warned   map[diagnostic.Problem]bool

	// What is left to be spent: bytes and files to include, and goldmark's time.
	expanded, expansions int
	cost                 int
	// taken is how much the pages include, in bytes.
	taken int
	// measuring says that pages are only to be measured: nobody is warned.
	measuring bool
}

// spent reports whether there is nothing left to include with.
func (c *checker) spent() bool {
	return c.expanded < 0 || c.expansions < 0 || c.taken > maxPages
}

// warn adds a warning once, however many chapters include its file.
func (c *checker) warn(kind, file string, line int, format string, args ...any) {
	if c.measuring {
		return
	}
	w := diagnostic.Problem{Severity: diagnostic.Warning, File: file, Line: line, Message: commonmark.Printable(fmt.Sprintf(format, args...)), Kind: kind}
	if c.full() || c.warned[w] {
		return
	}
	c.warned[w] = true
	c.warnings = append(c.warnings, w)
	if c.full() {
		c.warnings = append(c.warnings, diagnostic.Problem{Severity: diagnostic.Warning, File: w.File,
			Message: fmt.Sprintf("there are more than %d warnings: what comes after isn't checked", maxWarnings)})
	}
}

// full reports whether there are as many warnings as are kept.
func (c *checker) full() bool { return len(c.warnings) >= maxWarnings }

// summary warns about the chapters that mdBook loses.
func (c *checker) summary(s *summary.Summary) {
	file := path.Join(c.src, summary.FileName)
	for _, link := range s.Ignored {
		name := link.Path()
		if _, ok := c.files[path.Join(c.src, name)]; ok && c.site.chapters[name] == nil {
			c.warn("", file, link.Line, "mdBook passes over the link to %s and doesn't render the page: make it a list item of its own", link.Location)
		}
	}
	pages := map[string]*summary.Chapter{}
	for chapter := range s.Chapters() {
		other := pages[chapter.HTML()]
		if other != nil && other.Path() != chapter.Path() {
			c.warn("", file, chapter.Line, "mdBook renders %s to %s, as it does %s in line %d, so only this one can be read: rename one of them",
				chapter.Location, chapter.HTML(), other.Location, other.Line)
		}
		if !chapter.Draft() {
			pages[chapter.HTML()] = chapter
		}
	}
}

// chapter warns about a chapter whose page is in a folder of the site.
func (c *checker) chapter(file, folder string, front bool) {
	p := c.expand(file)
	if c.spent() {
		c.warn("", path.Join(c.src, summary.FileName), 0, "the chapters include more than %d MiB or %d files, so their links aren't checked", maxExpanded>>20, maxExpansions)
		return
	}
	if c.options.LinksChange {
		return
	}
	front = front && folder != "."
	broken := func(l link) bool {
		return c.site.broken(l, folder) || front && c.site.broken(l, ".")
	}
	if !suspicious(p.text, broken) {
		return
	}
	cost := commonmark.Cost(p.text)
	if c.cost+cost > commonmark.MaxCost {
		c.warn("", file, 0, "it is nested too deeply, or has a paragraph of many thousand links, so its links aren't checked")
		return
	}
	c.cost += cost
	for at, l := range brokenLinks(p.text, broken) {
		if c.brokenLink(p, at, l, file, folder); c.full() {
			return
		}
	}
}

func (c *checker) brokenLink(p *page, at int, l link, file, folder string) {
	what, from := "link to", ""
	if l.image {
		what = "image"
	}
	in, line := p.origin(at)
	if in != file {
		from = " from " + file + " (which includes this)"
	}
	if !c.site.broken(l, folder) {
		c.warn(linksToNowhere, in, line, "the %s %s leads nowhere on the book's front page, where mdBook shows the first chapter too: "+
			"let the first chapter be a page that isn't in a folder", what, l.destination)
		return
	}
	c.warn(linksToNowhere, in, line, "the %s %s leads nowhere%s: %s", what, l.destination, from, c.site.fault(l, folder))
}
