package generator

import (
	"fmt"
	"iter"
	"path"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/links"
	"github.com/zoetrope/markdown-view/generator/memory"
	"github.com/zoetrope/markdown-view/generator/summary"
)

// measure finds out what mdBook needs to build a book in which no errors were found, and
// adds to what was found: it may need too much.
func measure(files layout, config book.Config, chapters *summary.Summary, found diagnostic.List) (need, diagnostic.List) {
	if found.Has(diagnostic.Error) {
		return need{}, found
	}
	m := &memory.Counter{NoIndex: config.NoSearch && !config.HTMLIgnored}
	parents := parentsOf(chapters)
	for chapter := range chapters.Chapters() {
		depth := 0
		for range above(chapter, parents) {
			depth++
		}
		m.Chapter(depth)
	}
	t := files.tree()
	for file, content := range t.files {
		if isStatic(file) {
			m.Static(len(content))
		}
	}
	err := links.Pages(t.files, t.source, chapters, config.ExpandsIncludes, func(chapter *summary.Chapter, text []byte) {
		m.Page(above(chapter, parents), text)
	})
	for _, fault := range diagnostic.FromError(err) {
		at := t.entries[fault.File]
		fault.Field, fault.File = at.field, at.name
		return need{}, append(found, fault)
	}
	needed := newNeed(m)
	if needed.limit <= muchMemory || m.Index() <= m.Bytes()/2 {
		return needed, found
	}
	return needed, append(found, Problem{Severity: diagnostic.Warning, Field: specField, Message: fmt.Sprintf(
		"mdBook may take %d MiB of memory to build the book, %d MiB of it for the search index: switch that off in book.toml, with enable = false in a table [output.html.search], or split the book into several views",
		needed.limit>>20, m.Index()>>20)})
}

// isStatic reports whether mdBook may read a file into memory to change it: a template, a
// style sheet, a script. Others are copied.
func isStatic(file string) bool {
	switch path.Ext(file) {
	case ".hbs", ".css", ".js":
		return true
	}
	return false
}

// parentsOf finds the chapters that others are nested in.
func parentsOf(s *summary.Summary) map[*summary.Chapter]*summary.Chapter {
	parents := map[*summary.Chapter]*summary.Chapter{}
	for chapter := range s.Chapters() {
		for _, nested := range chapter.Nested {
			parents[nested] = chapter
		}
	}
	return parents
}

// above yields the names of a chapter and of those that it is nested in.
func above(chapter *summary.Chapter, parents map[*summary.Chapter]*summary.Chapter) iter.Seq[string] {
	return func(yield func(string) bool) {
		for ; chapter != nil && yield(chapter.Name); chapter = parents[chapter] {
			continue
		}
	}
}
