package main

import (
	"os"
	"syscall"
)

// maxRSS is a finished process's peak memory in bytes; Linux counts KiB.
func maxRSS(state *os.ProcessState) int64 {
	return state.SysUsage().(*syscall.Rusage).Maxrss << 10
}
