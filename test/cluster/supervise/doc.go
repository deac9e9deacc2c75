// Package supervise runs the processes of a test cluster in such a way that
// none of them, and no file of theirs, outlives whoever wanted them.
//
// A small program, the supervisor, is the parent of all of them. It holds the
// read end of a pipe whose write end only the owner (a test, say) has. However
// the owner ends (done, panic, Ctrl-C, kill -9), the kernel closes that pipe,
// and the supervisor kills its processes, removes their folder and ends. Three
// more nets lie below it: on Linux, should the supervisor itself be killed, the
// kernel kills its children; its folder is removed when the next supervisor
// starts, which finds the folder's lock free; and that one also kills whatever
// still carries the folder's name in its environment.
//
// A run with a real node is isolated (LaunchIsolated): its supervisor is the
// first process of a namespace of processes, and has namespaces for mounts and
// the network, so that the kernel takes containers, mounts and interfaces with
// it. Only control groups stay, and are removed with the folder.
//
// Owner and supervisor talk over the supervisor's standard input and output
// (net/rpc). The package imports the standard library and x/sys only: the
// supervisor has to start in milliseconds.
package supervise
