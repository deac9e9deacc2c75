package artifact

import (
	"container/list"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/types"
)

// state is what becomes of an entry.
type state int

const (
	waiting  state = iota // for its turn
	fetching              // just now
	failed
	ready
)

// entry is an artifact that is kept, or to be fetched.
type entry struct {
	key     string
	of      Source
	address string
	// version differs for an artifact that its server has stored again.
	version  string
	artifact *meta.Artifact
	state    state
	// since is when it was read first.
	since time.Time
	// err is why the last try failed, failures how many have, and until when it isn't
	// tried again.
	err      error
	failures int
	until    time.Time
	pace     pace
	unpack   unpacking
	dir      string
	bytes    int64
	readers  int
	place    *list.Element
	// waiters are the readers to wake.
	waiters map[types.NamespacedName]bool
}

// rank says which artifacts of a namespace are fetched first: those of the lowest one.
func (e *entry) rank() int {
	switch {
	case e.failures > 0 || e.pace == slow:
		return 2
	case e.pace == unknown:
		return 1
	}
	return 0
}
