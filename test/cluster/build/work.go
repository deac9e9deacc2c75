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
	// bytes are the sizes of the packages' sources that aren't compiled yet, and total and
	// done their sums.
	bytes       map[string]int64
	total, done int64
	packages    int
}

// linking is which part of the time that compiling takes the linker takes after it: for
// Kubernetes 12 s of processor time, after some 150 on two cores.
const linking = 12

// estimate measures the sources of a step: how long a package takes to compile goes
// roughly with their size.
func (r recipe) estimate(ctx context.Context, step step, log Log) (*work, error) {
	if len(step.packages) == 0 {
		return nil, nil
	}
	// Listing needs the sources, so it fetches exactly the modules that are
	// compiled; `go mod download` would fetch all that go.mod mentions.
	log.Printf("%s: fetching modules", r.name)
	var listed bytes.Buffer
	if err := r.goCommand(ctx, append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles"}, step.packages...), &listed, nil); err != nil {
		return nil, err
	}
	work := &work{what: r.name + ": " + step.what, log: log, bytes: map[string]int64{}}
	decoder := json.NewDecoder(&listed)
	for {
		var listed struct {
			ImportPath, Dir string
			GoFiles         []string
		}
		err := decoder.Decode(&listed)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, file := range listed.GoFiles {
			if info, err := os.Stat(filepath.Join(listed.Dir, file)); err == nil {
				work.bytes[listed.ImportPath] += info.Size()
			}
		}
		work.total += work.bytes[listed.ImportPath]
	}
	work.total += work.total / linking
	log.Printf("%s: %d packages of Go, less those that are in its cache", r.name, len(work.bytes))
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
	w.done += w.bytes[importPath]
	delete(w.bytes, importPath)
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
	return text + fmt.Sprintf(", %d %%, at most %s left", 100*w.done/w.total, left.Round(time.Second))
}
