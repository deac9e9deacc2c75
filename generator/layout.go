package generator

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
)

// Where things are in the viewer's container. mdBook's image has /book as its
// working directory.
const (
	bookRoot    = "/book"
	flatSource  = "src"
	buildFolder = "/build"
)

// revisionFile starts the names of the files that the revision keys are projected
// to.
const revisionFile = ".revision"

// entry is one file of a book: a key of a ConfigMap and the path that the pod's
// volume gives it.
type entry struct {
	name    string // as the book has it: below the source folder for a page
	key     string
	path    string // below the volume's mount
	content []byte
}

// layout is how a book is laid out in the viewer's container.
type layout struct {
	// flat says that the volume is the source folder, as in the tutorial, rather
	// than the book's root.
	flat bool
	// source is the source folder below the volume's mount, "" when that is it.
	source string
	// renamedSource says that book.toml names the root itself as the source
	// folder, and that the pages are in flatSource all the same.
	renamedSource bool
	// watchesMore says that book.toml names more folders to be watched.
	watchesMore bool
	entries     []entry // sorted by key
}

func (l layout) mountPath() string {
	if l.flat {
		return path.Join(bookRoot, flatSource)
	}
	return bookRoot
}

// revisionPath is where a shard's revision key is projected to: a name that
// mdBook doesn't publish, because it ends with .md in the source folder and is
// outside of it elsewhere.
func (l layout) revisionPath(shardName string) string {
	name := revisionFile + shardName
	if l.flat {
		name += ".md"
	}
	return name
}

// arrange lays a book out. A flat book is mounted as the tutorial does it. With
// anything more the volume is the book's root: mdBook then finds book.toml, and
// publishes a plain folder instead of a mount with the kubelet's ..data links,
// whose files it would copy to the site.
func arrange(b book.Book, config book.Config) layout {
	l := layout{flat: isFlat(b), watchesMore: len(config.ExtraWatchDirs) > 0}
	if !l.flat {
		l.source = config.Src
		if l.source == "." {
			l.source, l.renamedSource = flatSource, true
		}
	}
	for p, content := range b.Pages {
		l.entries = append(l.entries, entry{name: p, key: pageKey(p), path: path.Join(l.source, p), content: content})
	}
	for p, content := range b.Files {
		l.entries = append(l.entries, entry{name: p, key: rootKey(p), path: p, content: content})
	}
	if b.Toml != nil {
		l.entries = append(l.entries, entry{name: book.ConfigPath, key: rootKey(book.ConfigPath), path: book.ConfigPath, content: b.Toml})
	}
	slices.SortFunc(l.entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	return l
}

func isFlat(b book.Book) bool {
	if b.Toml != nil || len(b.Files) > 0 {
		return false
	}
	for p := range maps.Keys(b.Pages) {
		if strings.Contains(p, "/") || !isMarkdown(p) || strings.HasPrefix(p, revisionFile) || strings.HasPrefix(p, "..") {
			return false
		}
	}
	return true
}

// isMarkdown says whether mdBook takes a file for a page instead of copying it to
// the site: its extension is md, in lower case.
func isMarkdown(p string) bool {
	name := path.Base(p)
	return strings.HasSuffix(name, ".md") && name != ".md"
}
