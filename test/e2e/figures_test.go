package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// TestAViewerNeedsNoMoreThanIsAskedFor measures mdBook in its pod, so that the
// generator's requests and limits are no guesses: the most memory it ever had, and the
// CPU time until it served and in a quiet half minute.
func TestAViewerNeedsNoMoreThanIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]string{
		"handbook example": handbook,
		"mdBook's guide":   books() + "/mdbook-guide/src",
		"Cluster API book": books() + "/cluster-api-book/src",
	} {
		t.Run(name, func(t *testing.T) {
			f := newBookFixture(t, folder)
			began := time.Now()
			f.applyBook(folder)
			available := time.Since(began)
			f.site().Page("/")
			deployment := &appsv1.Deployment{}
			if !f.get(deployment, "viewer-docs") {
				t.Fatal("there is no Deployment")
			}
			resources := deployment.Spec.Template.Spec.Containers[0].Resources
			request, limit := resources.Requests.Memory().Value(), resources.Limits.Memory().Value()

			start := f.cpuTime()
			const quiet = 30 * time.Second
			f.eventually("a quiet time", func() string {
				if time.Since(began)-available < quiet {
					return "not over"
				}
				return ""
			})
			idle := (f.cpuTime() - start) / (quiet / time.Second)
			peak := f.peakMemory()
			figures := fmt.Sprintf("%s: from apply to Available %.1f s; memory at most %d MiB, requested %d MiB, limit %d MiB; CPU %s until served, then %s a second",
				name, available.Seconds(), peak>>20, request>>20, limit>>20, start.Round(10*time.Millisecond), idle.Round(100*time.Microsecond))
			t.Log(figures)
			clustertest.Keep(t, "figures-"+strings.ReplaceAll(name, " ", "-")+".txt", []byte(figures+"\n"))
			if peak > limit*9/10 {
				t.Error("that is more than nine tenths of the limit")
			}
			if peak > request*5/4 {
				t.Error("that is more than five quarters of what was requested")
			}
			cpu := deployment.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
			if idle > time.Duration(cpu)*time.Millisecond {
				t.Errorf("quiet, it needs more than the %d thousandths of a CPU that were requested", cpu)
			}
		})
	}
}

// peakMemory is the most memory that mdBook had at any time, in bytes.
func (f *fixture) peakMemory() int64 {
	f.Helper()
	text := field(f.kubectl("exec", "deployment/viewer-docs", "--", "cat", "/proc/1/status"), "VmHWM")
	kibibytes, err := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)
	if err != nil {
		f.Fatal(err)
	}
	return kibibytes << 10
}

// cpuTime is what mdBook has used so far: fields 14 and 15 of /proc/<pid>/stat,
// in hundredths of a second, counted behind the program's name.
func (f *fixture) cpuTime() time.Duration {
	f.Helper()
	stat := f.kubectl("exec", "deployment/viewer-docs", "--", "cat", "/proc/1/stat")
	_, after, _ := strings.Cut(stat, ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		f.Fatalf("no fields in %q", stat)
	}
	var total int64
	for _, text := range fields[11:13] {
		ticks, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			f.Fatal(err)
		}
		total += ticks
	}
	return time.Duration(total) * 10 * time.Millisecond
}
