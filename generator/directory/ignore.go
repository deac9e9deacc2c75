package directory

import (
	"fmt"
	"path"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// DefaultIgnore is what is left out of every folder: what editors and desktops
// leave behind, and git's settings, which the artifacts of Flux's sources never hold.
// Patterns are those of .gitignore.
const DefaultIgnore = `*~
.*.sw[a-p]
\#*\#
.\#*
.DS_Store
Thumbs.db
desktop.ini
.idea/
.vscode/
.gitignore
.gitattributes
.gitmodules
`

// gitFolder holds git's own data, and perhaps credentials: it is never read.
const gitFolder = ".git"

// patterns are lines of .gitignore.
type patterns []pattern

type pattern struct {
	elements []string // between slashes; "**" stands for any number of elements
	negated  bool
	dirOnly  bool
	// anchored patterns are compared with the whole path, others with its last
	// element.
	anchored bool
}

// parseIgnore reads the default patterns and then text. Its rules are git's
// (gitignore(5)); the library that Flux uses, go-git's, differs from git where
// patterns are negated or hold "**".
func parseIgnore(text string) (patterns, error) {
	var ps patterns
	for line := range strings.Lines(DefaultIgnore) {
		p, _, _ := parsePattern(line)
		ps = append(ps, p)
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		p, ok, err := parsePattern(line)
		if err != nil {
			return nil, diagnostic.List{{Field: ignoreField, Line: number, Message: err.Error()}}.Err()
		}
		if ok {
			ps = append(ps, p)
		}
	}
	return ps, nil
}

// parsePattern reads a line; ok reports whether it holds a pattern.
func parsePattern(line string) (p pattern, ok bool, err error) {
	line = trimSpaces(strings.TrimRight(line, "\r\n"))
	if strings.HasPrefix(line, "#") {
		return pattern{}, false, nil
	}
	line, p.negated = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return pattern{}, false, nil
	}
	for element := range strings.SplitSeq(line, "/") {
		glob, err := toGlob(element)
		if err != nil {
			return pattern{}, false, err
		}
		p.elements = append(p.elements, glob)
	}
	return p, true, nil
}

// trimSpaces drops spaces at the end that no backslash keeps.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// toGlob turns an element of a pattern into one of [path.Match], which negates
// with "^" only.
func toGlob(element string) (string, error) {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(element); i++ {
		switch c := element[i]; {
		case c == '\\' && i+1 < len(element):
			b.WriteByte(c)
			i++
		case c == '[' && inClass && i+1 < len(element) && element[i+1] == ':':
			return "", fmt.Errorf("the pattern %.60q: classes such as [:alpha:] aren't known here, write a range such as a-z", element)
		case c == '[' && !inClass:
			inClass = true
			if i+1 < len(element) && element[i+1] == '!' {
				b.WriteString("[^")
				i++
				continue
			}
		case c == ']':
			inClass = false
		}
		b.WriteByte(element[i])
	}
	glob := b.String()
	if _, err := path.Match(glob, ""); err != nil {
		return "", fmt.Errorf("the pattern %.60q: brackets or a backslash without their end: close them, or write \\ before each that is meant as it is", element)
	}
	return glob, nil
}

// ignores reports whether a path below the folder is left out, provided that no
// folder that it is in is.
func (ps patterns) ignores(rel string, isDir bool) bool {
	name := path.Base(rel)
	if strings.EqualFold(name, gitFolder) {
		return true
	}
	elements := strings.Split(rel, "/")
	for i := len(ps) - 1; i >= 0; i-- {
		p := &ps[i]
		if p.dirOnly && !isDir {
			continue
		}
		var matched bool
		if p.anchored {
			matched = matchElements(p.elements, elements)
		} else {
			matched = matchElement(p.elements[0], name)
		}
		if matched {
			return !p.negated
		}
	}
	return false
}

// ignoresWithin reports whether a path or a folder that it is in is left out. A path
// that begins with .. isn't left out for the names of the folders that it begins in.
func (ps patterns) ignoresWithin(rel string, isDir bool) bool {
	up := len("../")*book.Ascent(rel) - 1
	if up == len(rel) {
		return false
	}
	for i, c := range rel {
		if c == '/' && i > up && ps.ignores(rel[:i], true) {
			return true
		}
	}
	return ps.ignores(rel, isDir)
}

// matchElements compares element by element. Where it fails, it lets the last "**"
// take one element more, which is enough and takes at most len(glob)·len(elements)
// steps.
func matchElements(glob, elements []string) bool {
	g, e := 0, 0
	star, taken := -1, 0
	for e < len(elements) {
		switch {
		case g < len(glob) && glob[g] == "**":
			star, taken = g, e
			g++
			// At the end it stands for what is inside of a folder: one element at least.
			if g == len(glob) {
				return true
			}
			continue
		case g < len(glob) && matchElement(glob[g], elements[e]):
			g, e = g+1, e+1
			continue
		case star < 0:
			return false
		}
		taken++
		g, e = star+1, taken
	}
	return g == len(glob)
}

func matchElement(glob, element string) bool {
	matched, _ := path.Match(glob, element)
	return matched
}
