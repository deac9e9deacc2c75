package links

import (
	"fmt"
	"path"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
	"github.com/zoetrope/markdown-view/generator/summary"
)

// Bounds of what the pages of a book may come to with all that they include.
const (
	// maxPages is the most that they may have together, in bytes.
	maxPages = 32 << 20
	// maxRead is the most that may be read for it, in bytes: each include reads its whole
	// file.
	maxRead = 512 << 20
	// maxReads is the most files that may be included.
	maxReads = 100_000
)

// Pages calls page for each chapter that isn't a draft, with its text and, if expand is
// set, all that it includes: as mdBook renders it. Files and src are those of [Check].
// The error is a [diagnostic.List] of one: what there is too much of, and the chapter that
// has most of it, by its path below the book's root.
func Pages(files map[string][]byte, src string, s *summary.Summary, expand bool, page func(*summary.Chapter, []byte)) error {
	c := &checker{options: Options{NoIncludes: !expand}, files: files, src: path.Clean(src), measuring: true, expanded: maxRead, expansions: maxReads}
	var total, most amounts
	var with [len(bounds)]string // chapters that have most
	for chapter := range s.Chapters() {
		file := path.Join(c.src, chapter.Path())
		if _, ok := files[file]; !ok || chapter.Draft() {
			continue
		}
		read, reads := c.expanded, c.expansions
		text := c.expand(file).text
		for i, amount := range (amounts{read - c.expanded, reads - c.expansions, len(text)}) {
			if total[i] += amount; amount >= most[i] {
				most[i], with[i] = amount, file
			}
			if total[i] > bounds[i].most || i == ofPages && c.taken > maxPages {
				return diagnostic.List{{File: with[i], Message: bounds[i].exceeded + ", this one most of all: include less, or split the book into several views"}}.Err()
			}
		}
		page(chapter, text)
	}
	return nil
}

// amounts are what is bounded.
type amounts [len(bounds)]int

// ofPages is the index of the pages' own size.
const ofPages = 2

var bounds = [...]struct {
	most     int
	exceeded string
}{
	{maxRead, fmt.Sprintf("the chapters include files of more than %d MiB together", maxRead>>20)},
	{maxReads, fmt.Sprintf("the chapters include more than %d files", maxReads)},
	ofPages: {maxPages, fmt.Sprintf("with what they include, the chapters have more than %d MiB", maxPages>>20)},
}
