package supervise

import (
	"syscall"
	"time"
)

// Process is a program to run.
type Process struct {
	// Name is unique among the supervisor's processes. Output is appended to
	// logs/<name>.log in the run's folder.
	Name string
	// Path is the program's file. Its last element is argv[0].
	Path string
	// Args are the arguments, without argv[0].
	Args []string
	// Env is added to the supervisor's own environment.
	Env []string
}

// State says how a process is.
type State struct {
	// PID is its process id, also after it has ended.
	PID int
	// Running is false once the process has ended and was waited for: from
	// then on its ports and files can be used again.
	Running bool
	// Ended says how it ended ("exit status 1", "signal: killed"). Empty while
	// it runs.
	Ended string
}

// StopArgs are the arguments of Stop.
type StopArgs struct {
	Name string
	// Grace is how long the process has after SIGTERM before it is killed.
	// Zero kills it at once.
	Grace time.Duration
}

// SignalArgs are the arguments of Signal.
type SignalArgs struct {
	Name   string
	Signal syscall.Signal
}

// None stands for "no argument" and "no result", which net/rpc doesn't have.
type None struct{}

// serviceName is the name that the supervisor's methods are called by.
const serviceName = "Supervisor"
