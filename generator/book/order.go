package book

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// defaultPreprocessors are the names of those that are part of mdBook.
var defaultPreprocessors = []string{"index", "links"}

// checkOrder finds preprocessors that have to run before each other. As in mdBook
// those that aren't there don't count, in before and after.
func (c *checker) checkOrder(doc map[string]any) {
	tables := tableOf(doc, "preprocessor")
	next := map[string][]string{}
	for name := range tables {
		next[name] = nil
	}
	if flagOf(tableOf(doc, "build"), "use-default-preprocessors", true) {
		for _, name := range defaultPreprocessors {
			next[name] = nil
		}
	}
	names := slices.Sorted(maps.Keys(next))
	for _, name := range names {
		for _, later := range textsOf(tableOf(tables, name), "before") {
			if _, ok := next[later]; ok {
				next[name] = append(next[name], later)
			}
		}
		for _, earlier := range textsOf(tableOf(tables, name), "after") {
			if _, ok := next[earlier]; ok {
				next[earlier] = append(next[earlier], name)
			}
		}
	}
	if circle := findCircle(names, next); circle != nil {
		at := circle[slices.IndexFunc(circle, func(name string) bool { _, ok := tables[name]; return ok })]
		c.fault("preprocessor."+at, fmt.Sprintf("mdBook 0.5 finds that by before and after (drop one of them) each of the preprocessors %.200s has to run before the next, and the last before the first", strings.Join(circle, ", ")))
	}
}

// findCircle returns the nodes of a circle, in their order, or nil. It takes the nodes
// away that nothing leads to, until only circles and what they lead to is left.
func findCircle(nodes []string, next map[string][]string) []string {
	before := map[string][]string{}
	for _, node := range nodes {
		for _, later := range next[node] {
			before[later] = append(before[later], node)
		}
	}
	waits := map[string]int{}
	var free []string
	for _, node := range nodes {
		if waits[node] = len(before[node]); waits[node] == 0 {
			free = append(free, node)
		}
	}
	for len(free) > 0 {
		node := free[0]
		free = free[1:]
		delete(waits, node)
		for _, later := range next[node] {
			if waits[later]--; waits[later] == 0 {
				free = append(free, later)
			}
		}
	}
	for _, node := range nodes {
		if _, ok := waits[node]; ok {
			return walkBack(node, before, waits)
		}
	}
	return nil
}

// walkBack goes from a node to one before it that is left over, until it comes to one
// again: each of them has one.
func walkBack(node string, before map[string][]string, left map[string]int) []string {
	var way []string
	for {
		if i := slices.Index(way, node); i >= 0 {
			circle := way[i:]
			slices.Reverse(circle)
			return circle
		}
		way = append(way, node)
		node = before[node][slices.IndexFunc(before[node], func(n string) bool { _, ok := left[n]; return ok })]
	}
}
