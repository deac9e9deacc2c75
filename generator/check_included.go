package generator

import (
	"bytes"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/theme"
)

// checkIncluded finds included files that would be taken for what they aren't: for
// mdBook's configuration or theme, or for the file that pages of another content include
// by the same path.
func (c *checker) checkIncluded() {
	for i, content := range c.book.contents {
		for _, p := range slices.Sorted(slices.Values(content.Book.Included)) {
			if role := c.roleOf(p); role != "" {
				c.addIncluded(content, p, "pages include it from beside their folder, where mdBook would take it for %s: "+
					"name the folder of the whole project, or move the file", role)
			}
			for _, other := range slices.Concat(c.book.contents[:i], c.book.contents[i+1:]) {
				if text, taken := other.Book.Files[p]; taken && !bytes.Equal(text, content.Book.Files[p]) {
					c.addIncluded(content, p, "pages include it by a path by which %s has another file: "+
						"rename one of them, or make two views of them", other.Field)
					break
				}
			}
		}
	}
}

func (c *checker) addIncluded(content Content, file, format string, args ...any) {
	c.add(entry{field: content.Field, name: file}, format, args...)
}

// roleOf says what mdBook takes a file beside the source folder for by its name alone;
// empty if for nothing.
func (c *checker) roleOf(p string) string {
	if p == book.ConfigPath {
		return "the book's configuration"
	}
	folder := c.themeFolder()
	if part, inside := strings.CutPrefix(p, folder+"/"); inside && theme.IsPart(part) || folder == "." && theme.IsPart(p) {
		return "a part of the book's theme"
	}
	return ""
}
