package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// work is what a step has to compile, for an estimate of how long it takes. Nil
// estimates nothing.
type work struct {
	what  string
	log   Log
	began time.Time

	mu sync.Mutex
	// left are the weights of the packages that aren't compiled yet; total is the sum of all,
	// and done of those that are.
	left        map[string]int64
	total, done int64
	packages    int
}

// weight is for how much a package counts: the processor time that each of Kubernetes' takes
// to compile (go build -debug-actiongraph) is best told by the size of its sources and by how
// many packages it depends on, of which each takes as much as 300 bytes.
func weight(sourceBytes int64, dependencies int) int64 {
	return sourceBytes + 300*int64(dependencies)
}

// linking is which part of the time that compiling takes the linker takes after it: for
// Kubernetes 8 s, on one processor, after 870 of processor time on two.
const linking = 50

// estimate weighs the packages of a step that aren't in Go's cache.
func (r recipe) estimate(ctx context.Context, step step, log Log) (*work, error) {
	if len(step.packages) == 0 {
		return nil, nil
	}
	// Listing needs the sources, so it fetches exactly the modules that are
	// compiled; `go mod download` would fetch all that go.mod mentions.
	defer every(heartbeat, func() { log.Printf("%s: fetching modules", r.name) })()
	// Embedded files are asked for because without them Stale isn't right.
	list := []string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,Deps,EmbedFiles,Stale"}
	for _, flag := range []string{"-trimpath", Quickly} {
		if slices.Contains(step.args, flag) {
			list = append(list, flag)
		}
	}
	var listed bytes.Buffer
	if err := r.goCommand(ctx, append(list, step.packages...), &listed, nil); err != nil {
		return nil, err
	}
	work := &work{what: r.name + ": " + step.what, log: log, left: map[string]int64{}}
	decoder := json.NewDecoder(&listed)
	for {
		var listed struct {
			ImportPath, Dir string
			GoFiles, Deps   []string
			Stale           bool
		}
		err := decoder.Decode(&listed)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if !listed.Stale {
			continue
		}
		var bytes int64
		for _, file := range listed.GoFiles {
			if info, err := os.Stat(filepath.Join(listed.Dir, file)); err == nil {
				bytes += info.Size()
			}
		}
		work.left[listed.ImportPath] = weight(bytes, len(listed.Deps))
		work.total += work.left[listed.ImportPath]
	}
	work.total += work.total / linking
	if len(work.left) > len(step.packages) { // programs never are
		log.Printf("%s: %d packages of Go that aren't in its cache", r.name, len(work.left))
	}
	work.began = time.Now()
	return work, nil
}

// begin notes that a package is being compiled.
func (w *work) begin(importPath string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.packages++
	w.done += w.left[importPath]
	delete(w.left, importPath)
}

// report logs how far it is.
func (w *work) report() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log.Printf("%s: %s", w.what, w.progress(time.Since(w.began)))
}

// progress says how far it is after some time.
func (w *work) progress(spent time.Duration) string {
	text := fmt.Sprintf("%d packages", w.packages)
	if w.done == 0 || w.total == 0 {
		return text
	}
	left := time.Duration(float64(spent) * float64(w.total-w.done) / float64(w.done))
	return text + fmt.Sprintf(", %d %%, about %s left", 100*w.done/w.total, left.Round(time.Second))
}
