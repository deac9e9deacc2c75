package artifact

import "slices"

// queue says what is fetched next. Namespaces take turns, so that one with many sources,
// or with servers that hang, holds up nobody else's.
type queue struct {
	// limit is how many are fetched at once, and limitOfNamespace how many of them are of
	// sources in one namespace. All but the first of a namespace leave half of the limit
	// to others.
	limit, limitOfNamespace int

	running map[string]int // by namespace
	inUse   int
	// slow is how many of them are known to take long: half of the limit at most, or
	// servers that hang, in many namespaces, would hold up all others'.
	slow    int
	waiting map[string][]*entry
	// turns are the namespaces with something that waits, the next one first.
	turns []string
}

func newQueue(limit, limitOfNamespace int) *queue {
	return &queue{limit: limit, limitOfNamespace: limitOfNamespace, running: map[string]int{}, waiting: map[string][]*entry{}}
}

// add has an artifact fetched in its turn. What has failed before, or takes long, lets the
// others of its namespace go first.
func (q *queue) add(e *entry) {
	namespace := e.of.Namespace
	waiting := q.waiting[namespace]
	if len(waiting) == 0 {
		q.turns = append(q.turns, namespace)
	}
	place := len(waiting)
	if !e.goesLast() {
		if last := slices.IndexFunc(waiting, (*entry).goesLast); last >= 0 {
			place = last
		}
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
		running := q.running[namespace]
		if running >= q.limitOfNamespace || q.inUse >= q.limit || running > 0 && q.inUse >= q.limit/2 {
			continue
		}
		place := slices.IndexFunc(q.waiting[namespace], func(e *entry) bool { return !e.slow || q.mayBeSlow() })
		if place < 0 {
			continue
		}
		e := q.waiting[namespace][place]
		// The namespace's next turn is after all others'.
		q.turns = append(slices.Delete(q.turns, i, i+1), namespace)
		q.setWaiting(namespace, slices.Delete(q.waiting[namespace], place, place+1))
		q.running[namespace]++
		q.inUse++
		if e.slow {
			q.countSlow(e)
		}
		return e
	}
	return nil
}

// takesLong notes that of what is being fetched, and reports whether it may go on. If not it
// has to be added again.
func (q *queue) takesLong(e *entry) bool {
	e.slow = true
	if e.countsAsSlow {
		return true
	}
	if !q.mayBeSlow() {
		return false
	}
	q.countSlow(e)
	return true
}

func (q *queue) mayBeSlow() bool { return q.slow < max(1, q.limit/2) }

func (q *queue) countSlow(e *entry) {
	e.countsAsSlow = true
	q.slow++
}

// done makes room for others.
func (q *queue) done(e *entry) {
	q.inUse--
	if e.countsAsSlow {
		e.countsAsSlow = false
		q.slow--
	}
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
