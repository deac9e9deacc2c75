package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
)

// parts are what the controller's heap is for, told by what has allocated it: the first
// that fits.
var parts = []struct {
	name  string
	marks []string // of functions on the stack
}{
	{"objects in the caches, packed", []string{"internal/reconciler.pack\n", "internal/reconciler.stripPod\n", "InlinePages).stripView\n"}},
	{"MarkdownViews in the cache", []string{"markdown-view/api/v1.", "serializer/json."}},
	{"Deployments in the cache", []string{"apps/v1.(*Deployment"}},
	{"ConfigMaps in the cache", []string{"core/v1.(*ConfigMap"}},
	{"Services in the cache", []string{"core/v1.(*Service"}},
	{"pods in the cache", []string{"core/v1.(*Pod"}},
	{"metadata of ConfigMaps and Services", []string{"meta/v1.(*PartialObjectMetadata"}},
	{"remembered of views", []string{"internal/reconciler.", "internal/apply.", "/generator."}},
	{"events", []string{"client-go/tools/record."}},
	{"queue and metrics", []string{"priorityqueue.", "workqueue.", "prometheus."}},
	{"informers and indexes", []string{"client-go/tools/cache."}},
	{"Go's structs of objects", []string{"runtime.(*Scheme).New\n"}},
	{"all else", []string{""}},
}

// controllerMemory measures what views cost the controller.
func (b *bench) controllerMemory(ctx context.Context, f *field) error {
	peak, err := peakOf(ctx, f.controller)
	if err != nil {
		return err
	}
	full, byPart, err := f.heap(ctx)
	if err != nil {
		return err
	}
	if b.profiles != "" {
		if err := b.keepProfile(ctx, f, "/debug/pprof/heap?gc=1", "heap"); err != nil {
			return err
		}
	}
	view := &v1.MarkdownView{}
	if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespaceOf(0), Name: "view-0"}, view); err != nil {
		return err
	}
	document, err := json.Marshal(view)
	if err != nil {
		return err
	}
	// What it needs without a view is part of the program, not of the views.
	empty, emptyByPart, emptyPeak, err := f.empty(ctx)
	if err != nil {
		return err
	}
	f.withoutViews = emptyPeak
	each := func(n float64) figure { return size(n / float64(f.views)) }
	b.results.add(
		f.row("resident memory, at most / without views", size(peak), size(emptyPeak), ""),
		f.row("resident memory a view / the view as JSON", each(peak-emptyPeak), size(float64(len(document))), "≤ 25 kB"),
		f.row("heap a view / the view as JSON", each(full-empty), size(float64(len(document))), ""))
	for i, part := range parts {
		b.results.add(f.row("heap a view: "+part.name, each(max(0, byPart[i]-emptyByPart[i])), figure{}, ""))
	}
	return nil
}

// heap is what the controller's heap holds after a collection, in bytes, and how much of
// it each part, as far as a sample of it tells.
func (f *field) heap(ctx context.Context) (total float64, byPart []float64, err error) {
	content, err := get(ctx, f.profiles, "/debug/pprof/heap?gc=1")
	if err != nil {
		return 0, nil, err
	}
	heap, err := profile.Parse(bytes.NewReader([]byte(content)))
	if err != nil {
		return 0, nil, err
	}
	byPart = make([]float64, len(parts))
	for _, sample := range heap.Sample {
		byPart[partOf(sample)] += float64(sample.Value[len(sample.Value)-1]) // inuse_space is the last
	}
	// Not that of the metrics: what they are made of themselves is garbage that counts.
	text, err := get(ctx, f.profiles, "/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return 0, nil, err
	}
	match := heapAlloc.FindStringSubmatch(text)
	if match == nil {
		return 0, nil, errors.New("the profile of the heap doesn't tell how much is in use")
	}
	total, err = strconv.ParseFloat(match[1], 64)
	return total, byPart, err
}

// heapAlloc is where Go's profile of the heap tells how much is in use.
var heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)

// partOf returns the index of the part that a sample belongs to.
func partOf(sample *profile.Sample) int {
	var stack strings.Builder
	for _, location := range sample.Location {
		for _, line := range location.Line {
			stack.WriteString(line.Function.Name + "\n")
		}
	}
	for i, part := range parts {
		for _, mark := range part.marks {
			if strings.Contains(stack.String(), mark) {
				return i
			}
		}
	}
	return len(parts) - 1
}

// peakOf is the most memory that a program had, in bytes; 0 where that can't be told.
func peakOf(ctx context.Context, program *cluster.Component) (float64, error) {
	state, err := program.State(ctx)
	if err != nil {
		return 0, err
	}
	text, ok := strings.CutSuffix(procField(fmt.Sprintf("/proc/%d/status", state.PID), "VmHWM"), " kB")
	if !ok {
		return 0, nil
	}
	kilobytes, err := strconv.ParseFloat(text, 64)
	return kilobytes * 1024, err
}

// empty returns the heap, its parts, and the most memory of a controller that looks after no
// view.
func (f *field) empty(ctx context.Context) (heap float64, byPart []float64, peak float64, err error) {
	empty := &field{Product: f.Product}
	if err := empty.namespaces(ctx, "empty"); err != nil {
		return 0, nil, 0, err
	}
	if err := empty.start(ctx, "empty", "--namespaces=empty"); err != nil {
		return 0, nil, 0, err
	}
	err = empty.until(ctx, "the empty controller", func() (string, error) {
		var unready error
		if heap, byPart, unready = empty.heap(ctx); unready != nil {
			return unready.Error(), nil //nolint:nilerr // it is waited for
		}
		return "", nil
	})
	if err != nil {
		return 0, nil, 0, err
	}
	if peak, err = peakOf(ctx, empty.controller); err != nil {
		return 0, nil, 0, err
	}
	return heap, byPart, peak, empty.controller.Kill(ctx)
}
