package main

import (
	"os"
	"syscall"
	"time"
)

// maxRSS is a finished process's peak memory in bytes; Linux counts KiB.
func maxRSS(state *os.ProcessState) int64 {
	return state.SysUsage().(*syscall.Rusage).Maxrss << 10
}

// processorTime is what this process has taken so far.
func processorTime() (time.Duration, error) {
	var used syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), err
}
