package artifact

import "slices"

// pace is how long a fetch is expected to take.
type pace int

const (
	// unknown: its source has served nothing yet, or not lately.
	unknown pace = iota
	// quick: its source has served its last artifact quickly.
	quick
	// slow: it takes long already, or did when it was tried before.
	slow
)

// queue says what is fetched next. Namespaces take turns, so that one with many sources,
// or with servers that hang, holds up nobody else's. So that servers that hang in many
// namespaces don't either, what takes long has half of the limit at most, and a quarter of it
// is left to sources that are known to be quick.
type queue struct {
	// limit is how many are fetched at once, and limitOfNamespace how many of them are of
	// sources in one namespace. All but the first of a namespace leave half of the limit
	// to others.
	limit, limitOfNamespace int

	running map[string]int // by namespace
	inUse   map[pace]int
	waiting map[string][]*entry
	// turns are the namespaces with something that waits, the next one first.
	turns []string
}

func newQueue(limit, limitOfNamespace int) *queue {
	return &queue{
		limit: limit, limitOfNamespace: limitOfNamespace,
		running: map[string]int{}, inUse: map[pace]int{}, waiting: map[string][]*entry{},
	}
}

// add has an artifact fetched in its turn. What is quick goes before others of its
// namespace, and what has failed before, or takes long, after them.
func (q *queue) add(e *entry) {
	namespace := e.of.Namespace
	waiting := q.waiting[namespace]
	if len(waiting) == 0 {
		q.turns = append(q.turns, namespace)
	}
	place := slices.IndexFunc(waiting, func(other *entry) bool { return other.rank() > e.rank() })
	if place < 0 {
		place = len(waiting)
	}
	q.waiting[namespace] = slices.Insert(waiting, place, e)
}

// remove has an artifact not fetched that waits.
func (q *queue) remove(e *entry) {
	namespace := e.of.Namespace
	q.setWaiting(namespace, slices.DeleteFunc(q.waiting[namespace], func(other *entry) bool { return other == e }))
}

// next returns what is to be fetched now, which counts until done is called with it; nil
// if nothing is.
func (q *queue) next() *entry {
	for i, namespace := range q.turns {
		place := slices.IndexFunc(q.waiting[namespace], q.mayRun)
		if place < 0 {
			continue
		}
		e := q.waiting[namespace][place]
		// The namespace's next turn is after all others'.
		q.turns = append(slices.Delete(q.turns, i, i+1), namespace)
		q.setWaiting(namespace, slices.Delete(q.waiting[namespace], place, place+1))
		q.running[namespace]++
		q.inUse[e.pace]++
		return e
	}
	return nil
}

// mayRun reports whether there is room for an artifact.
func (q *queue) mayRun(e *entry) bool {
	running, inUse := q.running[e.of.Namespace], q.inUse[unknown]+q.inUse[slow]
	if running >= q.limitOfNamespace || inUse+q.inUse[quick] >= q.limit {
		return false
	}
	if e.pace == quick {
		return true
	}
	return (running == 0 || inUse < q.limit/2) && inUse < q.limitOfOthers() && (e.pace != slow || q.mayBeSlow())
}

// limitOfOthers is how many are fetched at once that aren't known to be quick.
func (q *queue) limitOfOthers() int { return q.limit - q.limit/4 }

func (q *queue) mayBeSlow() bool { return q.inUse[slow] < max(1, q.limit/2) }

// takesLong notes that of what is being fetched, and reports whether it may go on. If not it
// has to be added again.
func (q *queue) takesLong(e *entry) bool {
	if e.pace == slow {
		return true
	}
	goesOn := q.mayBeSlow() && (e.pace == unknown || q.inUse[unknown]+q.inUse[slow] < q.limitOfOthers())
	q.inUse[e.pace]--
	e.pace = slow
	q.inUse[slow]++
	return goesOn
}

// done makes room for others.
func (q *queue) done(e *entry) {
	q.inUse[e.pace]--
	if q.running[e.of.Namespace]--; q.running[e.of.Namespace] == 0 {
		delete(q.running, e.of.Namespace)
	}
}

func (q *queue) setWaiting(namespace string, waiting []*entry) {
	if len(waiting) > 0 {
		q.waiting[namespace] = waiting
		return
	}
	delete(q.waiting, namespace)
	q.turns = slices.DeleteFunc(q.turns, func(other string) bool { return other == namespace })
}
