package links

import (
	"path"

	"github.com/zoetrope/markdown-view/generator/summary"
)

// Bounds of what the pages of a book may come to with all that they include.
const (
	// MaxPagesBytes is the most that they may have together, in bytes.
	MaxPagesBytes = 32 << 20
	// maxRead is the most that may be read for it: each include reads its whole file.
	maxRead = 256 << 20
	// maxReads is the most files that may be included.
	maxReads = 100_000
)

// Pages calls page for each chapter that isn't a draft, with its text and, if expand is
// set, all that it includes: as mdBook renders it. Files and src are those of [Check].
// It reports false if it gave up, because that comes to more than [MaxPagesBytes] or
// because it takes too much to find out.
func Pages(files map[string][]byte, src string, s *summary.Summary, expand bool, page func(*summary.Chapter, []byte)) bool {
	c := &checker{files: files, src: path.Clean(src), measuring: true, expanded: maxRead, expansions: maxReads}
	total := 0
	for chapter := range s.Chapters() {
		file := path.Join(c.src, chapter.Path())
		text, ok := files[file]
		if !ok || chapter.Draft() {
			continue
		}
		if expand {
			text = c.expand(file).text
		}
		if total += len(text); c.spent() || total > MaxPagesBytes {
			return false
		}
		page(chapter, text)
	}
	return true
}
