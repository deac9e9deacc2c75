//go:build linux

package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// controller is where memory is limited: the file of the limit in a control group of
// the hierarchy. Without one the books are run all the same.
type controller struct{ folder, limit string }

// memoryController finds the memory controller of either version of control groups.
var memoryController = sync.OnceValues(func() (controller, error) {
	var failed error
	for _, c := range []controller{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
		{"/sys/fs/cgroup", "memory.max"},
	} {
		probe := filepath.Join(c.folder, fmt.Sprintf("markdown-view-corpus-%d", os.Getpid()))
		if failed = os.Mkdir(probe, 0o755); failed != nil {
			continue
		}
		_, failed = os.Stat(filepath.Join(probe, c.limit))
		if err := os.Remove(probe); failed == nil && err == nil {
			return c, nil
		}
	}
	return controller{}, failed
})

// memoryGroup makes a control group with a limit; empty where none can be made.
func memoryGroup(t *testing.T, limit int64) string {
	t.Helper()
	c, err := memoryController()
	if err != nil || limit == 0 {
		return ""
	}
	group, err := os.MkdirTemp(c.folder, "markdown-view-corpus-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(group, c.limit), []byte(strconv.FormatInt(limit, 10)), 0o644); err != nil {
		t.Fatal(err)
	}
	// Where swap counts apart, there is none.
	if swap := filepath.Join(group, "memory.swap.max"); exists(swap) {
		if err := os.WriteFile(swap, []byte("0"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return group
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
