package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxLinks is how many links a path may go through, as in Linux.
const maxLinks = 40

// linkError says that a link can't be followed.
type linkError struct {
	link   string // path of the link, without another link in it
	target string // as the link has it
	where  string // completes "which leads "
}

const (
	nowhere   = "nowhere"
	inCircles = "back to itself"
)

func (e *linkError) Error() string {
	return fmt.Sprintf("the link %s to %q leads %s", printable(e.link), e.target, e.where)
}

var (
	errNotFolder = errors.New("goes through a file, not a folder")
	errOutside   = errors.New("leads out of what can be read")
	errGitFolder = errors.New("is git's own data, which is never read")
)

// step is one element of a path that is followed.
type step struct {
	element string
	link    *linkError // whose target it is from; nil for the path itself
}

func steps(p string, link *linkError) []step {
	var s []step
	for element := range strings.SplitSeq(p, "/") {
		if element != "" && element != "." {
			s = append(s, step{element, link})
		}
	}
	return s
}

// resolve follows p, a path that starts in the folder from, to a file or folder, and
// returns its path without a link, and what it is. It does itself what an os.Root
// would do, so that messages can name the link, that a loop can be told from a long
// path, and that the file system of a test gives the same answers.
func (r *reader) resolve(from, p string) (string, fs.FileInfo, error) {
	real, info, _, err := r.follow(from, p)
	return real, info, err
}

// follow is resolve that also returns how many links the path goes through.
func (r *reader) follow(from, p string) (real string, info fs.FileInfo, links int, err error) {
	info, err = fs.Stat(r.fsys, from)
	if err != nil {
		return "", nil, 0, err
	}
	at, rest := from, steps(p, nil)
	for len(rest) > 0 {
		next := rest[0]
		rest = rest[1:]
		switch {
		case !info.IsDir():
			return "", nil, links, errNotFolder
		case next.element == ".." && at == ".":
			return "", nil, links, next.link.leads("out of " + r.base)
		case next.element == "..":
			at = path.Dir(at)
			continue
		case strings.EqualFold(next.element, gitFolder) && next.link != nil:
			return "", nil, links, next.link.leads("into git's own data, which is never read")
		case strings.EqualFold(next.element, gitFolder):
			return "", nil, links, errGitFolder
		}

		name := path.Join(at, next.element)
		found, err := fs.Lstat(r.fsys, name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && next.link != nil:
			return "", nil, links, next.link.leads(nowhere)
		case err != nil:
			return "", nil, links, err
		case found.Mode().Type() != fs.ModeSymlink:
			at, info = name, found
			continue
		}

		target, err := fs.ReadLink(r.fsys, name)
		if err != nil {
			return "", nil, links, err
		}
		link := &linkError{link: name, target: target}
		if links++; links > maxLinks {
			return "", nil, links, link.leads(inCircles)
		}
		if path.IsAbs(target) {
			return "", nil, links, link.leads("out of " + r.base)
		}
		rest = slices.Concat(steps(target, link), rest)
	}
	return at, info, links, nil
}

// leads completes the error. Without a link it is the path itself that leads out.
func (e *linkError) leads(where string) error {
	if e == nil {
		return errOutside
	}
	e.where = where
	return e
}

// failResolve notes that a path below the folder, "" for the folder itself, can't
// be followed.
func (r *reader) failResolve(rel string, err error) {
	var link *linkError
	switch {
	case errors.As(err, &link):
		r.failf(rel, "%v: put the files themselves there, or ignore the link", link)
	case errors.Is(err, fs.ErrNotExist) && rel == "":
		r.failf(rel, "no such folder in %s: add it, or write its path from there", r.base)
	case errors.Is(err, errOutside):
		r.failf(rel, "is outside of %s: only what is in there can be read", r.base)
	case errors.Is(err, errNotFolder), errors.Is(err, errGitFolder):
		r.failf(rel, "%v: name another path", err)
	default:
		r.failRead(rel, err)
	}
}
