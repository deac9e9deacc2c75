package generator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/zoetrope/markdown-view/generator/memory"
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
	return memoryOf(n.limit/2, n.limit)
}

// memoryOf asks for little processor time, and for memory, in bytes.
func memoryOf(request, limit int64) *corev1ac.ResourceRequirementsApplyConfiguration {
	return corev1ac.ResourceRequirements().
		WithRequests(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("10m"),
			corev1.ResourceMemory: *resource.NewQuantity(request, resource.BinarySI),
		}).
		WithLimits(corev1.ResourceList{
			corev1.ResourceMemory: *resource.NewQuantity(limit, resource.BinarySI),
		})
}
