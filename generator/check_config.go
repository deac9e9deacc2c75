package generator

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
)

// parseConfig reads book.toml. One that can't be read is a problem, and the rest is
// checked with mdBook's defaults.
func (c *checker) parseConfig() {
	config, err := book.ParseConfig(c.book.Toml)
	if err == nil {
		c.config = config
		return
	}
	if invalid, ok := errors.AsType[*book.ConfigError](err); ok {
		c.addToConfig(invalid.Line, "column %d: %s", invalid.Column, invalid.Message)
	} else {
		c.addToConfig(0, "%v", err)
	}
	c.config, _ = book.ParseConfig(nil)
}

// checkConfig holds book.toml against the files of the book and the programs of the
// image.
func (c *checker) checkConfig() {
	if !c.config.RendersHTML {
		c.addToConfig(0, "[output] names no html, so there would be no site to serve: add a table [output.html]")
	}
	c.checkConfigFiles()
	for _, fault := range c.config.Faults {
		if fault.Fatal && c.usesDefaultImage() {
			c.addToConfig(fault.Line, "%s", fault.Message)
		} else {
			c.warnOfConfig(fault.Line, "%s", fault.Message)
		}
	}
	c.checkPrograms()
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
	if book.Ascent(c.config.Src) > 0 && !slices.ContainsFunc(c.contents, isProject) {
		c.addToConfig(0, "book.src is %.120q, which is outside of the book's folder: only an mdBook project can have its pages there", c.config.Src)
	}
	requireAll := func(key string, files []string) {
		for _, p := range files {
			if !c.has(p) {
				c.addToConfig(0, "output.html.%s names %s, which %s: add it, or drop it from the list", key, p, absence(p))
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
		c.addToConfig(0, "output.html.input-404 names %s, which isn't in the source folder: add it, or drop the key", page)
	}
	if c.config.ThemeRequired && !hasFolder(c.config.Theme) {
		c.addToConfig(0, "output.html.theme names the folder %s, which %s: add it, or drop the key", c.config.Theme, absence(c.config.Theme))
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
				c.addToConfig(0, "the path %.120q leads through the folder %s, which isn't in the book: drop it from the path", way, at)
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

// addToConfig notes a problem of book.toml.
func (c *checker) addToConfig(line int, format string, args ...any) {
	c.problems = append(c.problems, c.inConfig(line, format, args...))
}

// warnOfConfig notes a warning about book.toml.
func (c *checker) warnOfConfig(line int, format string, args ...any) {
	c.warnings = append(c.warnings, c.inConfig(line, format, args...))
}

// complain notes what keeps mdBook 0.5 from starting, in book.toml: a warning unless
// that is certain and the image's version is known.
func (c *checker) complain(certain bool, format string, args ...any) {
	if certain && c.usesDefaultImage() {
		c.addToConfig(0, format, args...)
	} else {
		c.warnOfConfig(0, format, args...)
	}
}

// complainOf notes the same in another file.
func (c *checker) complainOf(file string, line int, certain bool, format string, args ...any) {
	if certain && c.usesDefaultImage() {
		c.add(file, line, format, args...)
		return
	}
	c.warnings = append(c.warnings, Problem{
		Field: fieldOf(c.view, c.contents, file), File: file, Line: line, Message: fmt.Sprintf(format, args...),
	})
}

func (c *checker) inConfig(line int, format string, args ...any) Problem {
	return Problem{Field: tomlFieldOf(c.view, c.contents), File: book.ConfigPath, Line: line, Message: fmt.Sprintf(format, args...)}
}
