package directory

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
)

// Limits of one path that mdBook opens: Linux' own, and one for the time that it
// takes to follow it.
const (
	maxWayBytes    = 4096
	maxWayElements = 500
)

// frame says where the folders that are read are in the book. Both lists hold names,
// from the outermost folder inwards; "" stands for a name that isn't known, and is
// like no other.
type frame struct {
	rootNames  []string // leads to the book's root
	startNames []string // leads to the reader's folder, in which ways begin
}

// projectFrame is that of a folder that is the book's root.
func projectFrame(real string) frame {
	return frame{rootNames: names(real), startNames: names(real)}
}

// sourceFrame is that of a folder that is the source folder src of a book.
func sourceFrame(real, src string) frame {
	up := book.Ascent(src)
	down := names(src)[up:]
	root := make([]string, max(0, len(names(real))-len(down)+up))
	return frame{rootNames: root, startNames: slices.Concat(root[:max(0, len(root)-up)], down)}
}

func names(p string) []string {
	if p == "." || p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

// relative is the path from one folder to another, or to a file; "" is the folder
// itself.
func relative(from, to []string) string {
	same := 0
	for same < len(from) && same < len(to) && from[same] == to[same] {
		same++
	}
	p := path.Join(strings.Repeat("../", len(from)-same), path.Join(to[same:]...))
	if p == "." {
		return ""
	}
	return p
}

// trace returns where a way leads if there is no link on it, and the folders that it
// leads out of and into by "..".
func (f frame) trace(way string) (at []string, through [][]string, ok bool) {
	if !isFollowed(way) {
		return nil, nil, false
	}
	at = slices.Clone(f.startNames)
	for element := range strings.SplitSeq(way, "/") {
		switch {
		case element == "" || element == ".":
		case element != "..":
			at = append(at, element)
		case len(at) == 0:
			return nil, nil, false
		default:
			through = append(through, slices.Clone(at), slices.Clone(at[:len(at)-1]))
			at = at[:len(at)-1]
		}
	}
	return at, through, true
}

// ascent is how many folders above the book's root a way leads on its way, even out of
// what can be read.
func (f frame) ascent(way string) int {
	if !isFollowed(way) {
		return 0
	}
	at, most, outside, beyond := slices.Clone(f.startNames), 0, 0, 0
	for element := range strings.SplitSeq(way, "/") {
		switch {
		case element == "" || element == ".":
		case element != ".." && outside > 0:
			beyond++
		case element != "..":
			at = append(at, element)
		case beyond > 0:
			beyond--
		case len(at) == 0:
			outside++
			most = max(most, len(f.rootNames)+outside)
		default:
			at = at[:len(at)-1]
			most = max(most, book.Ascent(relative(f.rootNames, at)))
		}
	}
	return min(most, book.MaxAscent)
}

// isFollowed reports whether a way is relative, and short enough.
func isFollowed(way string) bool {
	return len(way) <= maxWayBytes && strings.Count(way, "/") <= maxWayElements && !path.IsAbs(way)
}

// canonical is the shortest path from the book's root to where a path from there
// leads.
func (f frame) canonical(rel string) string {
	return relative(f.rootNames, f.absolute(rel))
}

// absolute is the reverse of relative, from the book's root.
func (f frame) absolute(rel string) []string {
	up := book.Ascent(rel)
	return slices.Concat(f.rootNames[:max(0, len(f.rootNames)-up)], names(rel)[up:])
}

// inSource returns the path below the source folder of a path from the book's root.
func (p *project) inSource(rel string) (page string, ok bool) {
	source, at := p.absolute(p.src), p.absolute(rel)
	if len(at) <= len(source) || !slices.Equal(source, at[:len(source)]) {
		return "", false
	}
	return path.Join(at[len(source):]...), true
}

// find follows a way to a file that isn't ignored, as the operating system does where
// mdBook runs: through each folder and link. In the book the file is where the way
// leads without links, and the folders that the way goes through are there too.
func (p *project) find(way string) (f file, plain bool, ok bool) {
	at, through, ok := p.trace(way)
	if !ok {
		return file{}, false, false
	}
	rel := relative(p.rootNames, at)
	if p.ignore.ignoresWithin(rel, false) {
		return file{}, false, false
	}
	real, info, links, err := p.follow(p.root, way)
	switch {
	case isMissing(err), leadsNowhere(err):
		return file{}, false, false
	case err != nil:
		p.failResolve(rel, err)
		return file{}, false, false
	case info.IsDir():
		return file{}, false, false
	}
	if err := book.ValidatePath(rel); err != nil {
		p.failf(rel, "the path %v", err)
		return file{}, false, false
	}
	f = file{rel: rel, real: real, size: info.Size(), mode: info.Mode()}
	return f, links == 0, p.claim(f) && p.keep(through)
}

// leadsNowhere reports whether there is a link on a way that nothing could follow.
func leadsNowhere(err error) bool {
	link, ok := errors.AsType[*linkError](err)
	return ok && (link.where == nowhere || link.where == inCircles)
}

// isMissing reports whether there is nothing for mdBook at the end of a way.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotFolder) || errors.Is(err, errGitFolder) || errors.Is(err, errOutside)
}

// claim notes that a file is in the book, unless another one is already there in its
// place: the way to one of them leads through a link then.
func (p *project) claim(f file) bool {
	other, taken := p.reals[f.rel]
	if taken && other != f.real {
		p.failf(f.rel, "is %s to one page and %s to another, because a path leads through a link and then up: name the file without going through the link", printable(other), printable(f.real))
		return false
	}
	p.reals[f.rel] = f.real
	return true
}

// keep notes folders that have to exist.
func (p *project) keep(folders [][]string) bool {
	for _, folder := range folders {
		rel := relative(p.rootNames, folder)
		if p.through[rel] || rel == "" {
			continue
		}
		// One that only leads up has no name of its own.
		if err := book.ValidatePath(path.Join(rel, "x")); err != nil {
			p.failf(rel, "the path %v", err)
			return false
		}
		p.through[rel] = true
	}
	return true
}

// folders are those that have to exist and hold no file of the book.
func (p *project) folders(b book.Book) []string {
	held := map[string]bool{}
	hold := func(file string) {
		for folder := path.Dir(file); !held[folder] && folder != "." && folder != "/"; folder = path.Dir(folder) {
			held[folder] = true
		}
	}
	for page := range b.Pages {
		hold(path.Join(p.src, page))
	}
	for file := range b.Files {
		hold(file)
	}
	if p.up > 0 {
		p.through[path.Join(strings.Repeat("../", p.up))] = true
	}
	var folders []string
	for folder := range p.through {
		if !held[folder] {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	return folders
}
