package generator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// mdBook's memory peaks while it builds the search index. Measured with 0.5.4:
// 14 MB for one page, 38 MB for 110 KB of Markdown, 190 MB for 1.7 MB, and for
// text in which hardly a word repeats, the worst case, 310 MB for 1 MB, 740 MB
// for 4 MB and 2.4 GB for 16 MB.
const (
	mebibyte        = 1 << 20
	memoryBase      = 56 * mebibyte
	memoryPerByte   = 320 // of the first MiB of Markdown
	memoryPerByteOn = 200 // of the rest
	memoryStep      = 16 * mebibyte
)

// resources asks for enough to build the book: half of the limit is what an
// ordinary book takes. There is no CPU limit: it would only make the build slow.
func resources(entries []entry) *corev1ac.ResourceRequirementsApplyConfiguration {
	limit := memoryLimit(markdownBytes(entries))
	return corev1ac.ResourceRequirements().
		WithRequests(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("10m"),
			corev1.ResourceMemory: *resource.NewQuantity(limit/2, resource.BinarySI),
		}).
		WithLimits(corev1.ResourceList{
			corev1.ResourceMemory: *resource.NewQuantity(limit, resource.BinarySI),
		})
}

// memoryLimit is in bytes, rounded up so that a small edit seldom changes it.
func memoryLimit(markdown int64) int64 {
	first := min(markdown, mebibyte)
	limit := memoryBase + first*memoryPerByte + (markdown-first)*memoryPerByteOn
	return (limit + memoryStep - 1) / memoryStep * memoryStep
}

func markdownBytes(entries []entry) int64 {
	var total int64
	for _, e := range entries {
		if isMarkdown(e.path) {
			total += int64(len(e.content))
		}
	}
	return total
}

// A book with much text or many pages may take longer to build on a busy node
// than the 30 s that the liveness probe grants: 3,000 small pages take a minute
// of CPU time, because each carries the table of contents.
const (
	slowMarkdownBytes = 256 << 10
	slowPages         = 200
	startupSeconds    = 600
)

func startsSlowly(entries []entry) bool {
	pages := 0
	for _, e := range entries {
		if isMarkdown(e.path) {
			pages++
		}
	}
	return pages > slowPages || markdownBytes(entries) > slowMarkdownBytes
}
