//go:build unix && !linux

package supervise

import (
	"errors"
	"os"
	"syscall"
)

// childAttributes are none: only Linux ties a child's life to its parent's.
func childAttributes() *syscall.SysProcAttr { return nil }

// killMarked does nothing: only Linux shows the environment of processes.
func killMarked(string) error { return nil }

func isolatedAttributes() (*syscall.SysProcAttr, error) {
	return nil, errors.New("a real node needs Linux")
}

// Isolated is what Linux alone can have.
func Isolated() bool { return false }

// Isolate does nothing: LaunchIsolated has failed before.
func Isolate() error { return nil }

func ownPID() int { return os.Getpid() }

func unmountBelow(string) error { return nil }

func removeControlGroups(string) error { return nil }

// KillContainers does nothing: only Linux has control groups.
func KillContainers(string, string, string) error { return nil }

// ContainerProcesses finds none: only Linux has control groups.
func ContainerProcesses(string, string) ([]int, error) { return nil, nil }
