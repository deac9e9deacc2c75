package supervise

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// childAttributes has the kernel kill a child when its supervisor is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// killMarked kills every process that carries the folder in its environment,
// grandchildren that have no other tie to the run included, and returns when
// they are gone.
func killMarked(folder string) error {
	if Isolated() {
		killAll()
		return nil
	}
	want := []byte(marker + "=" + folder)
	deadline := time.Now().Add(10 * time.Second)
	for {
		left, err := marked(want)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v of %s don't end", left, folder)
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by now
		}
		time.Sleep(5 * time.Millisecond) // the kernel tells nobody but parents when a process is gone
	}
}

// marked finds processes by their environment. A zombie's is empty.
func marked(want []byte) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil {
			continue // another user's, or it has ended
		}
		for variable := range bytes.SplitSeq(environment, []byte{0}) {
			if !bytes.Equal(variable, want) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				return nil, err
			}
			found = append(found, pid)
			break
		}
	}
	return found, nil
}
