package links

import (
	"fmt"
	"path"

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
// The error says what there is too much of.
func Pages(files map[string][]byte, src string, s *summary.Summary, expand bool, page func(*summary.Chapter, []byte)) error {
	c := &checker{options: Options{NoIncludes: !expand}, files: files, src: path.Clean(src), measuring: true, expanded: maxRead, expansions: maxReads}
	total := 0
	for chapter := range s.Chapters() {
		file := path.Join(c.src, chapter.Path())
		if _, ok := files[file]; !ok || chapter.Draft() {
			continue
		}
		text := c.expand(file).text
		total += len(text)
		switch {
		case c.expanded < 0:
			return fmt.Errorf("the chapters include files of more than %d MiB together", maxRead>>20)
		case c.expansions < 0:
			return fmt.Errorf("the chapters include more than %d files", maxReads)
		case c.taken > maxPages || total > maxPages:
			return fmt.Errorf("with what they include, the chapters have more than %d MiB", maxPages>>20)
		}
		page(chapter, text)
	}
	return nil
}
