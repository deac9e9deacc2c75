package directory

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/links"
	"github.com/zoetrope/markdown-view/generator/mdbook"
	"github.com/zoetrope/markdown-view/generator/summary"
)

// source is a text that may include files, and the way to it.
type source struct {
	way, key string // texts of one key are the same
	text     []byte
}

// includer adds to a book what its pages include.
type includer struct {
	*project
	book    *book.Book
	queue   []source
	seen    map[string]bool     // ways
	targets map[string][]string // of a text's directives, by its key
}

// addIncludes adds the files that pages include and that aren't in the book yet, and
// those that such files include, and completes the book's folders. What is missing,
// or outside of what can be read, isn't an error here: the page's author is told.
func (p *project) addIncludes(b *book.Book) {
	if len(p.errs) > 0 {
		return
	}
	i := &includer{project: p, book: b, seen: map[string]bool{}, targets: map[string][]string{}}
	if p.config.ExpandsIncludes {
		i.run()
	}
	b.Folders = p.folders(*b)
}

func (i *includer) run() {
	chapters := i.chapters()
	for _, page := range slices.Sorted(maps.Keys(i.book.Pages)) {
		if mdbook.IsPage(page) || chapters[page] {
			way := page
			if i.srcWay != "" {
				way = i.srcWay + "/" + page
			}
			i.seen[way] = true
			i.queue = append(i.queue, source{way, path.Join(i.src, page), i.book.Pages[page]})
		}
	}
	for len(i.queue) > 0 {
		next := i.queue[0]
		i.queue = i.queue[1:]
		for _, target := range i.targetsOf(next) {
			if i.include(next, target); i.full {
				return
			}
		}
	}
}

// chapters are those that SUMMARY.md lists, whatever their ending. What is wrong with it
// is said elsewhere.
func (i *includer) chapters() map[string]bool {
	listed, _ := summary.Parse(i.book.Pages[summary.FileName])
	chapters := map[string]bool{}
	for chapter := range listed.Chapters() {
		chapters[chapter.Path()] = true
	}
	return chapters
}

func (i *includer) targetsOf(s source) []string {
	targets, known := i.targets[s.key]
	if !known {
		seen := map[string]bool{}
		for include := range links.Includes("", s.text) {
			if !seen[include.Target] && !path.IsAbs(include.Target) {
				seen[include.Target] = true
				targets = append(targets, include.Target)
			}
			if len(targets) > i.limits.Entries {
				break // more than are looked for
			}
		}
		i.targets[s.key] = targets
	}
	return targets
}

// include adds the file that a text includes.
func (i *includer) include(by source, target string) {
	way := by.way[:strings.LastIndexByte(by.way, '/')+1] + target
	if i.seen[way] {
		return
	}
	i.seen[way] = true
	// Each is looked for in the file system, so they count like a folder's; long ones
	// count as several.
	const long = 256
	if i.entries += 1 + len(way)/long; i.entries > i.limits.Entries {
		i.full = true
		i.failf(by.key, "with what it includes, more than %d files and folders are looked for: include less, or make several books of it", i.limits.Entries)
		return
	}
	i.up = max(i.up, i.ascent(way))
	f, plain, ok := i.find(way)
	if !ok {
		return
	}
	if plain { // so that what is included by several ways is read once
		direct := relative(i.startNames, i.absolute(f.rel))
		if direct != way && i.seen[direct] {
			return
		}
		i.seen[direct], way = true, direct
	}
	if text, ok := i.textOf(f); ok {
		i.queue = append(i.queue, source{way, f.rel, text})
	}
}

// textOf returns the text of an included file, and adds it to the book if it isn't in
// it yet.
func (i *includer) textOf(f file) ([]byte, bool) {
	if f.rel == book.ConfigPath && i.toml != nil {
		return i.toml, true // which comes anyway
	}
	into, name := i.book.Files, f.rel
	if page, ok := i.inSource(f.rel); ok {
		if text, ok := i.book.Pages[page]; ok {
			return text, true
		}
		if _, beside := i.book.Files[f.rel]; !beside {
			into, name = i.book.Pages, page
		}
	}
	if text, ok := into[name]; ok {
		return text, true
	}
	if !i.accept(f, f.mode) {
		return nil, false
	}
	text, ok := i.readCounted(f)
	if ok {
		into[name] = text
		if name == f.rel {
			i.book.Included = append(i.book.Included, name)
		}
	}
	return text, ok
}
