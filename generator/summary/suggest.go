package summary

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/mdbook"
)

// absent completes a sentence about a page that isn't there with what was
// probably meant, or else with the given advice.
func (t *tree) absent(location, problem, advice string) string {
	if hint := t.hint(location); hint != "" {
		advice = hint
	}
	return problem + ": " + advice
}

// hint names the page that a location probably means, or is empty.
func (t *tree) hint(location string) string {
	for _, name := range spellings(location) {
		name.path = t.spelled(name.path)
		if name.path == "" {
			continue
		}
		if name.why == "" {
			return "did you mean " + destination(name.path) + "?"
		}
		return name.why + ", write " + destination(name.path)
	}
	return ""
}

// spelled returns the file of that name, be it in other letters, or nothing.
func (t *tree) spelled(name string) string {
	if _, ok := t.files[name]; ok {
		return name
	}
	if t.lower == nil {
		t.lower = make(map[string]string, len(t.files))
		for file := range t.files {
			// Of two names that differ in nothing else, always the same.
			if other, ok := t.lower[strings.ToLower(file)]; !ok || file < other {
				t.lower[strings.ToLower(file)] = file
			}
		}
	}
	return t.lower[strings.ToLower(name)]
}

type spelling struct{ path, why string }

// spellings are what people write for a page, and mdBook doesn't understand.
func spellings(location string) []spelling {
	list := []spelling{
		{path: location},
		{path: strings.ReplaceAll(location, `\`, "/")},
		{path: location + mdbook.PageEnding},
	}
	if plain, err := url.PathUnescape(location); err == nil && plain != location {
		list = append(list, spelling{plain, "mdBook decodes nothing but %20"})
	}
	if i := strings.IndexAny(location, "#?"); i > 0 {
		list = append(list, spelling{location[:i], "mdBook takes " + location[i:] + " for part of the file's name"})
	}
	for i := range list {
		// As if / were src: neither ../ nor / leads out.
		list[i].path = strings.TrimPrefix(path.Clean("/"+list[i].path), "/")
	}
	return slices.DeleteFunc(list, func(s spelling) bool { return s.path == "" })
}

// destination writes a path as the destination of a link.
func destination(name string) string {
	if strings.ContainsAny(name, " ()") {
		return "<" + name + ">"
	}
	return name
}

// missingSummary is the error for a book without SUMMARY.md.
func missingSummary(files map[string][]byte, src string) faults {
	var errs faults
	if name := newTree(files, src).spelled(FileName); name != "" {
		errs.add(0, "not among the pages: rename %s", name)
	} else {
		errs.add(0, "not among the pages: mdBook reads from it which pages are chapters, so add one, like - [Introduction](introduction.md)")
	}
	return errs
}
