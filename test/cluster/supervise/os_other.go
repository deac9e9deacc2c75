//go:build unix && !linux

package supervise

import "syscall"

// childAttributes are none: only Linux ties a child's life to its parent's.
func childAttributes() *syscall.SysProcAttr { return nil }

// killMarked does nothing: only Linux shows the environment of processes.
func killMarked(string) error { return nil }
