package generator

import (
	"iter"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/zoetrope/markdown-view/generator/links"
	"github.com/zoetrope/markdown-view/generator/memory"
	"github.com/zoetrope/markdown-view/generator/summary"
)

const (
	mebibyte   = 1 << 20
	memoryStep = 16 * mebibyte
	// leastMemory is the limit of an ordinary small book.
	leastMemory = 64 * mebibyte
	// muchMemory is more than a node may have to spare.
	muchMemory = 2048 * mebibyte
)

// need is what mdBook needs to build a book.
type need struct {
	// limit of memory, in bytes.
	limit int64
	// slow says that it may take longer on a busy node than the 30 s that the liveness
	// probe grants: three thousand small pages take a minute of CPU time.
	slow bool
}

// From here on a book is slow.
const (
	slowBytes    = 256 << 10 // of all pages with what they include
	slowChapters = 200
	slowMemory   = 96 * mebibyte
)

// startupSeconds is what a slow book is granted.
const startupSeconds = 600

func newNeed(m *memory.Counter) need {
	limit := memoryLimit(m.Bytes())
	return need{limit: limit, slow: m.Pages() > slowBytes || m.Chapters() > slowChapters || limit > slowMemory}
}

// memoryLimit adds a fifth to what was estimated, and rounds up so that a small edit
// seldom changes it.
func memoryLimit(estimate int64) int64 {
	limit := estimate + estimate/5
	return max(leastMemory, (limit+memoryStep-1)/memoryStep*memoryStep)
}

// resources asks for enough to build the book: half of the limit is what an ordinary
// book takes. There is no CPU limit: it would only make the build slow.
func resources(n need) *corev1ac.ResourceRequirementsApplyConfiguration {
	return corev1ac.ResourceRequirements().
		WithRequests(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("10m"),
			corev1.ResourceMemory: *resource.NewQuantity(n.limit/2, resource.BinarySI),
		}).
		WithLimits(corev1.ResourceList{
			corev1.ResourceMemory: *resource.NewQuantity(n.limit, resource.BinarySI),
		})
}

// measure finds out what mdBook needs to build the book.
func (c *checker) measure(s *summary.Summary, t tree) {
	m := &memory.Counter{NoIndex: c.config.NoSearch && !c.config.HTMLIgnored}
	parents := parentsOf(s)
	for chapter := range s.Chapters() {
		depth := 0
		for range above(chapter, parents) {
			depth++
		}
		m.Chapter(depth)
	}
	for file, content := range t.files {
		if isStatic(file) {
			m.Static(len(content))
		}
	}
	err := links.Pages(t.files, t.source, s, c.config.ExpandsIncludes, func(chapter *summary.Chapter, text []byte) {
		m.Page(above(chapter, parents), text)
	})
	if err != nil {
		c.addToBook("%v: include less, or split the book into several views", err)
		return
	}
	c.layout.need = newNeed(m)
	if limit := c.layout.need.limit; limit > muchMemory && m.Index() > m.Bytes()/2 {
		c.warnOfBook("mdBook may take %d MiB of memory to build the book, %d MiB of it for the search index: switch that off in book.toml, with enable = false in a table [output.html.search], or split the book into several views",
			limit>>20, m.Index()>>20)
	}
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
