package generator

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/theme"
)

// themeFolder is where mdBook looks for the theme.
func (c *checker) themeFolder() string {
	if c.config.HTMLIgnored && c.usesDefaultImage() {
		return "theme"
	}
	return c.config.Theme
}

// checkTheme finds what keeps mdBook from rendering with the book's theme, style sheets
// and scripts. redirects says that there are pages that redirect.
func (c *checker) checkTheme(redirects bool) {
	files, entries := map[string][]byte{}, map[string]entry{}
	for _, e := range c.layout.entries {
		file, ok := e.path, true
		if folder := c.layout.below(c.themeFolder()); folder != "" && folder != "." {
			file, ok = strings.CutPrefix(e.path, folder+"/")
		}
		if ok {
			files[file], entries[file] = e.content, e
		}
	}
	for _, fault := range theme.Check(files, redirects) {
		at := entries[fault.File]
		fault.Field, fault.File = at.field, at.name
		c.object(fault)
	}
	c.checkIcon(files)
	c.checkEncoding()
}

// checkIcon finds an unknown icon for the repository. A template of the theme's own may
// not show it.
func (c *checker) checkIcon(files map[string][]byte) {
	if c.config.HTMLIgnored || c.config.RepositoryURL == "" {
		return
	}
	index, own := files["index.hbs"]
	if own && !strings.Contains(string(index), "git_repository_icon_class") {
		return
	}
	if fault := theme.IconFault(c.config.RepositoryIcon); fault != "" {
		c.complain(!own, "output.html.git-repository-icon is %.60q, %s", c.config.RepositoryIcon, fault)
	}
}

// checkEncoding finds files that mdBook reads as text and that are none, so that it
// fails: style sheets and scripts of book.toml and among the theme's fonts, and the
// page for unknown addresses.
func (c *checker) checkEncoding() {
	read := map[string]bool{}
	if !c.config.HTMLIgnored {
		for _, list := range [][]string{c.config.AdditionalCSS, c.config.AdditionalJS} {
			for _, file := range list {
				read[c.layout.below(file)] = isStyleOrScript(file)
			}
		}
	}
	page404 := c.layout.below(c.config.Page404())
	if c.config.Input404 == "" || c.config.HTMLIgnored {
		page404 = path.Join(c.layout.source, "404.md")
	}
	read[page404] = !c.config.No404 || c.config.HTMLIgnored
	fonts := c.layout.below(path.Join(c.themeFolder(), "fonts"))
	for _, e := range c.layout.entries {
		isFont := path.Dir(e.path) == fonts && path.Base(e.path) != "fonts.css" && isStyleOrScript(e.path)
		if (read[e.path] || isFont) && !utf8.Valid(e.content) {
			c.object(inFile(e, diagnostic.Error, 0, "is not UTF-8 text, as which mdBook reads this file: save it as UTF-8"))
		}
	}
}

// isStyleOrScript reports whether mdBook reads an additional file as text.
func isStyleOrScript(file string) bool {
	return strings.HasSuffix(file, ".css") || strings.HasSuffix(file, ".js")
}
