package generator

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/summary"
)

// imagePrograms are the programs beside mdbook itself that DefaultViewerImage
// holds.
var imagePrograms = []string{"mdbook-mermaid", "mdbook-toc"}

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

// usesDefaultImage says whether the version of mdBook is known.
func (c *checker) usesDefaultImage() bool {
	return c.view.Spec.ViewerImage == "" || c.view.Spec.ViewerImage == DefaultViewerImage
}

// checkConfigFiles finds files that book.toml names and that are missing: mdBook
// fails at start. What it ignores may be missing.
func (c *checker) checkConfigFiles() {
	exists := func(p string) bool {
		return slices.ContainsFunc(c.layout.entries, func(e entry) bool { return e.path == p })
	}
	hasFolder := func(p string) bool {
		return p == "." || slices.ContainsFunc(c.layout.entries, func(e entry) bool { return strings.HasPrefix(e.path, p+"/") })
	}
	requireAll := func(key string, files []string) {
		for _, p := range files {
			if !exists(p) {
				c.addToConfig(0, "output.html.%s names %s, which isn't in the book: add it, or drop it from the list", key, p)
			}
		}
	}
	if c.config.HTMLIgnored {
		return
	}
	requireAll("additional-css", c.config.AdditionalCSS)
	requireAll("additional-js", c.config.AdditionalJS)
	if page := c.config.Input404; page != "" && !exists(path.Join(c.layout.source, page)) {
		c.addToConfig(0, "output.html.input-404 names %s, which isn't in the source folder: add it, or drop the key", page)
	}
	if c.config.ThemeRequired && !hasFolder(c.config.Theme) {
		c.addToConfig(0, "output.html.theme names the folder %s, which isn't in the book: add it, or drop the key", c.config.Theme)
	}
}

// checkPrograms warns of programs that the image lacks, as far as it is known. It
// is no more than a warning, because kustomize may put another image in place of
// the default one.
func (c *checker) checkPrograms() {
	if !c.usesDefaultImage() {
		return
	}
	warn := func(table string, plugins []book.Plugin) {
		for _, plugin := range plugins {
			program, _, _ := strings.Cut(plugin.Command, " ")
			if !plugin.Optional && !slices.Contains(imagePrograms, program) {
				c.warnOfConfig(plugin.Line, "[%s.%s] needs the program %s, which the image %s lacks, so that mdBook fails: drop the table, add optional = true, or set viewerImage to an image that has it",
					table, plugin.Name, program, DefaultViewerImage)
			}
		}
	}
	warn("preprocessor", c.config.Preprocessors)
	warn("output", c.config.Renderers)
}

// addToConfig notes a problem of book.toml.
func (c *checker) addToConfig(line int, format string, args ...any) {
	c.problems = append(c.problems, c.inConfig(line, format, args...))
}

// warnOfConfig notes a warning about book.toml.
func (c *checker) warnOfConfig(line int, format string, args ...any) {
	c.warnings = append(c.warnings, c.inConfig(line, format, args...))
}

func (c *checker) inConfig(line int, format string, args ...any) Problem {
	return Problem{Field: tomlFieldOf(c.view, c.contents), File: book.ConfigPath, Line: line, Message: fmt.Sprintf(format, args...)}
}

// checkRedirects finds redirects from a chapter's own address: mdBook fails at
// start.
func (c *checker) checkRedirects(s *summary.Summary) {
	if c.config.HTMLIgnored {
		return
	}
	chapters := map[string]string{}
	for chapter := range s.Chapters() {
		if chapter.Draft() {
			continue
		}
		chapters[siteFile(chapter.Path())] = chapter.Path()
		address := "/" + siteFile(chapter.Path())
		if slices.Contains(c.config.Redirects, address) {
			c.addToConfig(0, "output.html.redirect redirects %s, which is the chapter %s: drop the redirect or the chapter", address, chapter.Path())
		}
	}
	for _, address := range c.config.Redirects {
		if fault := redirectFault(address, chapters); fault != "" {
			c.addToConfig(0, "output.html.redirect redirects %q, %s", address, fault)
		}
	}
}

// redirectFault says why mdBook can't write the page that redirects from an address, or
// would write it outside of the site. chapters are those of the pages of the site.
func redirectFault(address string, chapters map[string]string) string {
	const longestName = 255 // in bytes, of a file
	address, _, _ = strings.Cut(address, "#")
	address = strings.TrimLeft(address, "/")
	if address == "" || strings.HasSuffix(address, "/") {
		return "which is a folder: name the page, /old/index.html say"
	}
	parent := ""
	for element := range strings.SplitSeq(address, "/") {
		if chapter, ok := chapters[parent]; ok {
			return fmt.Sprintf("which would be below the page of the chapter %s: drop it", chapter)
		}
		parent = path.Join(parent, element)
		switch {
		case element == "..":
			return `which holds "..": write the address that it leads to, within the site`
		case strings.ContainsRune(element, 0):
			return "which holds a NUL character: drop it"
		case len(element) > longestName:
			return fmt.Sprintf("of which a part has %d bytes, may have %d: shorten it", len(element), longestName)
		}
	}
	return ""
}

// siteFile is the file that mdBook renders a chapter to.
func siteFile(page string) string {
	folder, name := path.Split(page)
	stem := strings.TrimSuffix(name, path.Ext(name))
	if strings.EqualFold(stem, "readme") {
		stem = "index"
	}
	return folder + stem + ".html"
}
