package directory

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/links"
)

// source is a text that may include files. Its path is one below the folder.
type source struct {
	path string
	text []byte
}

// addIncludes adds the files beside the source folder that pages include, and those
// that such files include. What is missing, or outside of the project, isn't an
// error here: the page's author is told.
func (p *project) addIncludes(b *book.Book) {
	var queue []source
	seen := map[string]bool{}
	for _, page := range slices.Sorted(maps.Keys(b.Pages)) {
		if strings.HasSuffix(page, ".md") {
			at := path.Join(p.src, page)
			queue = append(queue, source{at, b.Pages[page]})
			seen[at] = true
		}
	}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for _, include := range links.Includes(next.path, next.text) {
			if seen[include.Path] {
				continue
			}
			seen[include.Path] = true
			// Each is looked for in the file system, so they count like a folder's.
			if p.entries++; p.entries > p.limits.Entries {
				p.failEntries()
				return
			}
			if text, ok := p.included(b, include.Path); ok {
				queue = append(queue, source{include.Path, text})
			}
			if p.full {
				return
			}
		}
	}
}

// included returns the text of an included file, and adds it to the book if it
// isn't in it yet.
func (p *project) included(b *book.Book, rel string) ([]byte, bool) {
	if path.IsAbs(rel) || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil, false
	}
	if p.src == "" || strings.HasPrefix(rel, p.src+"/") {
		text, ok := b.Pages[within(p.src, rel)]
		return text, ok
	}
	if rel == book.ConfigPath {
		return b.Toml, true // which comes anyway
	}
	if text, ok := b.Files[rel]; ok {
		return text, true
	}
	f, ok := p.lookUp(rel)
	if !ok {
		return nil, false
	}
	text, ok := p.readCounted(f)
	if ok {
		b.Files[rel] = text
	}
	return text, ok
}
