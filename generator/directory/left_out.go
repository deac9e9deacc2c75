package directory

import "strings"

// LeftOut returns the first part of a path that [DefaultIgnore] leaves out of every
// folder, as a pattern that brings it back after a "!"; or "". Nothing brings .git back.
func LeftOut(rel string) string {
	ignore, _ := parseIgnore("")
	elements := strings.Split(rel, "/")
	for i, element := range elements {
		isDir := i < len(elements)-1
		if !ignore.ignores(strings.Join(elements[:i+1], "/"), isDir) {
			continue
		}
		if isDir {
			element += "/"
		}
		return element
	}
	return ""
}
