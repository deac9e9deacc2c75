// Package build downloads or compiles the programs that a test cluster consists of, once
// for each version of their sources, and keeps them in a cache folder that all
// clones of the repository share:
//
//	${XDG_CACHE_HOME:-$HOME/.cache}/markdown-view/controlplane/<key>/bin
//
// The key names the versions, for people, and ends in a hash of all that goes
// into compiled programs: go.mod, go.sum, sources, the go command's arguments, the
// version of Go. A program that is there is therefore never stale. A build is
// made beside it and gets its name when it is complete, under a lock, so that
// a build that was cut off, or two at once, do no harm.
package build
