package generator

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// checkConfig holds book.toml against the files of the book and the programs of the
// image.
func (c *checker) checkConfig() {
	if !c.config.RendersHTML {
		c.addToConfig("[output] names no html, so there would be no site to serve: add a table [output.html]")
	}
	c.checkConfigFiles()
	for _, fault := range c.config.Faults {
		fault.Field = c.book.origin.toml
		c.object(fault)
	}
	c.checkPrograms()
	c.checkSiteURL()
}

// usesDefaultImage reports whether the version of mdBook is known.
func (c *checker) usesDefaultImage() bool {
	return c.view.Spec.ViewerImage == "" || c.view.Spec.ViewerImage == DefaultViewerImage
}

// checkConfigFiles finds files that book.toml names and that are missing: mdBook
// fails at start. What it ignores may be missing.
func (c *checker) checkConfigFiles() {
	hasFolder := func(p string) bool {
		folder := c.layout.below(p)
		return folder == "" || folder == "." || slices.ContainsFunc(c.layout.entries, func(e entry) bool { return strings.HasPrefix(e.path, folder+"/") })
	}
	isProject := func(content Content) bool { return content.Book.Toml != nil }
	if book.Ascent(c.config.Src) > 0 && !slices.ContainsFunc(c.book.contents, isProject) {
		c.addToConfig("book.src is %.120q, which is outside of the book's folder: only an mdBook project can have its pages there", c.config.Src)
	}
	requireAll := func(key string, files []string) {
		for _, p := range files {
			if !c.has(p) {
				c.addToConfig("output.html.%s names %s, which %s: add it, or drop it from the list", key, p, absence(p))
			}
		}
	}
	if c.config.HTMLIgnored {
		return
	}
	c.checkWays()
	requireAll("additional-css", c.config.AdditionalCSS)
	requireAll("additional-js", c.config.AdditionalJS)
	if page := c.config.Input404; page != "" && !c.has(c.config.Page404()) {
		c.addToConfig("output.html.input-404 names %s, which isn't in the source folder: add it, or drop the key", page)
	}
	if c.config.ThemeRequired && !hasFolder(c.config.Theme) {
		c.addToConfig("output.html.theme names the folder %s, which %s: add it, or drop the key", c.config.Theme, absence(c.config.Theme))
	}
}

// checkWays finds paths in book.toml that lead through a folder, and out of it by "..",
// that isn't there: the operating system refuses them, and mdBook fails at start.
func (c *checker) checkWays() {
	if len(c.config.Written) == 0 {
		return
	}
	held := c.layout.held()
	for _, folder := range c.layout.folders {
		held[folder] = true
	}
	for _, way := range c.config.Written {
		at := ""
		for element := range strings.SplitSeq(way, "/") {
			if folder := c.layout.below(at); element == ".." && !held[path.Join(".", folder)] {
				c.addToConfig("the path %.120q leads through the folder %s, which isn't in the book: drop it from the path", way, at)
				break
			}
			at = path.Join(at, element)
		}
	}
}

// absence says where a file that book.toml names isn't.
func absence(p string) string {
	if book.Ascent(p) > 0 {
		return "isn't below the working directory, or in the artifact, that the book is taken from"
	}
	return "isn't in the book"
}

// object notes what mdBook of the default image's version objects to. Whether an error is
// one isn't known with another image.
func (c *checker) object(p Problem) {
	if !c.usesDefaultImage() {
		p.Severity = diagnostic.Warning
	}
	c.found = append(c.found, p)
}

// complain notes what keeps mdBook 0.5 from starting, in book.toml: a warning unless that
// is certain.
func (c *checker) complain(certain bool, format string, args ...any) {
	severity := diagnostic.Warning
	if certain {
		severity = diagnostic.Error
	}
	c.object(c.inConfig(severity, 0, format, args...))
}

// addToConfig notes an error in book.toml.
func (c *checker) addToConfig(format string, args ...any) {
	c.found = append(c.found, c.inConfig(diagnostic.Error, 0, format, args...))
}

// warnOfConfig notes a warning about book.toml.
func (c *checker) warnOfConfig(line int, format string, args ...any) {
	c.found = append(c.found, c.inConfig(diagnostic.Warning, line, format, args...))
}

func (c *checker) inConfig(severity diagnostic.Severity, line int, format string, args ...any) Problem {
	return Problem{Severity: severity, Field: c.book.origin.toml, File: book.ConfigPath, Line: line, Message: fmt.Sprintf(format, args...)}
}

// checkSiteURL warns of a path that the static server can't be told.
func (c *checker) checkSiteURL() {
	if c.view.Spec.StaticServer == nil {
		return
	}
	if _, ok := sitePath(c.config.SiteURL); !ok {
		c.warnOfConfig(0, "site-url %.120q isn't a path of letters, digits and . _ ~ - beside /.markdown-view: the static server answers at / only, so a gateway has to take the path off", c.config.SiteURL)
	}
}
