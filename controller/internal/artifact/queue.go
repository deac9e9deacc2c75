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
	waiting map[string][]*entry
	// turns are the namespaces with something that waits, the next one first.
	turns []string
}

func newQueue(limit, limitOfNamespace int) *queue {
	return &queue{limit: limit, limitOfNamespace: limitOfNamespace, running: map[string]int{}, waiting: map[string][]*entry{}}
}

// add has an artifact fetched in its turn. What has failed before lets the others of its
// namespace go first.
func (q *queue) add(e *entry) {
	namespace := e.of.Namespace
	waiting := q.waiting[namespace]
	if len(waiting) == 0 {
		q.turns = append(q.turns, namespace)
	}
	place := len(waiting)
	if e.failures == 0 {
		if retry := slices.IndexFunc(waiting, func(other *entry) bool { return other.failures > 0 }); retry >= 0 {
			place = retry
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
		e := q.waiting[namespace][0]
		// The namespace's next turn is after all others'.
		q.turns = append(slices.Delete(q.turns, i, i+1), namespace)
		q.setWaiting(namespace, q.waiting[namespace][1:])
		q.running[namespace]++
		q.inUse++
		return e
	}
	return nil
}

// done makes room for others.
func (q *queue) done(e *entry) {
	q.inUse--
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
