package generator

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/mdbook"
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
	field   string // of the view, that it came from
	key     string
	path    string // below the volume's mount
	content []byte
}

// layout is how a book is laid out in the viewer's container.
type layout struct {
	// flat says that the volume is the source folder, as in the tutorial.
	flat bool
	// root is the book's root below the volume's mount, "" when that is it or flat.
	root string
	// source is the source folder below the volume's mount, "" when that is it.
	source string
	// folders are those below the volume's mount that have to exist and hold none of
	// the entries.
	folders []string
	// buildDepth is how many folders of the site mdBook may leave when it writes files.
	buildDepth int
	// watchesMore says that book.toml names more folders to be watched.
	watchesMore bool
	entries     []entry // sorted by key
	// large are the paths of the entries that no ConfigMap can hold, sorted. Where
	// there are any, the volume is mounted elsewhere and has other paths; the pod
	// copies and assembles what it holds to where the volume would be.
	large []string
}

func (l layout) mountPath() string {
	if l.flat {
		return path.Join(bookRoot, flatSource)
	}
	return bookRoot
}

// buildDir is the folder that mdBook builds the site in: as deep in the one that it
// can write to as files are written beside the site.
func (l layout) buildDir() string {
	return buildFolder + strings.Repeat("/site", l.buildDepth)
}

// below is a path below the volume's mount of one from the book's root.
func (l layout) below(p string) string {
	return path.Join(l.root, p)
}

// revisionPath is where a shard's revision key is projected to: a name that
// mdBook doesn't publish, because it ends with .md in the source folder and is
// outside of it elsewhere.
func (l layout) revisionPath(shardName string) string {
	name := revisionFile + shardName
	if l.flat {
		name += mdbook.PageEnding
	}
	return name
}

// arrange lays a book out. A flat book is mounted as the tutorial does it. With
// anything more the volume holds the book's root: mdBook then finds book.toml, and
// publishes a plain folder instead of a mount with the kubelet's ..data links,
// whose files it would copy to the site.
func arrange(b merged, config book.Config) layout {
	l := layout{flat: isFlat(b.Book), watchesMore: len(config.ExtraWatchDirs) > 0, buildDepth: buildDepth(config)}
	if !l.flat {
		l.root = rootFolder(b.Book, config)
		l.source = l.below(config.Src)
	}
	for p, content := range b.Pages {
		l.entries = append(l.entries, entry{name: p, field: b.origin.pages[p], key: pageKey(p), path: path.Join(l.source, p), content: content})
	}
	for p, content := range b.Files {
		l.entries = append(l.entries, entry{name: p, field: b.origin.files[p], key: rootKey(p), path: l.below(p), content: content})
	}
	if b.Toml != nil {
		l.entries = append(l.entries, entry{name: book.ConfigPath, field: b.origin.toml, key: rootKey(book.ConfigPath), path: l.below(book.ConfigPath), content: b.Toml})
	}
	slices.SortFunc(l.entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	if !l.flat {
		l.folders = l.emptyFolders(b.Folders)
	}
	for _, e := range l.entries {
		if len(e.content) > valueBytes {
			l.large = append(l.large, e.path)
		}
	}
	slices.Sort(l.large)
	return l
}

// stored are the entries as ConfigMaps hold them and the volume shows them, sorted by
// key.
func (l layout) stored() []entry {
	if len(l.large) == 0 {
		return l.entries
	}
	var stored []entry
	for _, e := range l.entries {
		if len(e.content) <= valueBytes {
			e.path = path.Join(wholeFolder, e.path)
			stored = append(stored, e)
			continue
		}
		number, _ := slices.BinarySearch(l.large, e.path)
		part := 0
		for content := range slices.Chunk(e.content, valueBytes) {
			stored = append(stored, entry{
				name: e.name, key: partKey(e.key, part), content: content,
				path: fmt.Sprintf("%s/%d/%03d", partsFolder, number, part),
			})
			part++
		}
	}
	slices.SortFunc(stored, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	return stored
}

// folderItems are the paths in the volume of files that make the empty folders exist.
func (l layout) folderItems() []string {
	var items []string
	for _, folder := range l.folders {
		if len(l.large) > 0 {
			folder = path.Join(wholeFolder, folder)
		}
		items = append(items, path.Join(folder, revisionFile+mdbook.PageEnding))
	}
	return items
}

// rootFolder is the book's root below the volume's mount: as deep as the book leads
// out of its root, and so that the source folder is in the mount and isn't the mount
// itself. The folders have their own names as far as these are known, so that paths
// hold that lead out of the root and back into it.
func rootFolder(b book.Book, config book.Config) string {
	depth := book.Ascent(config.Src)
	if base := path.Base(config.Src); base == "." || base == ".." {
		depth++
	}
	for _, paths := range []iter.Seq[string]{maps.Keys(b.Files), slices.Values(b.Folders)} {
		for p := range paths {
			depth = max(depth, book.Ascent(p))
		}
	}
	depth = min(depth, book.MaxAscent)
	names := knownNames(b.Root)
	names = names[max(0, len(names)-depth):]
	// Kubernetes keeps names that start with ".." for itself.
	if len(names) > 0 && strings.HasPrefix(names[0], "..") {
		depth = max(depth, len(names)+1)
	}
	for len(names) < depth {
		names = slices.Insert(names, 0, unnamedFolder(b, depth))
	}
	return path.Join(names...)
}

// knownNames are those of the folders of a path, the last ones, that a volume can have.
func knownNames(root string) []string {
	if root == "" {
		return nil
	}
	names := strings.Split(root, "/")
	for i, name := range slices.Backward(names) {
		if v1.ValidatePagePath("x/"+name) != nil {
			return names[i+1:]
		}
	}
	return names
}

// unnamedFolder is a name for a folder whose own isn't known, and that no file beside
// it has.
func unnamedFolder(b book.Book, depth int) string {
	taken := map[string]bool{}
	for p := range b.Files {
		for range depth {
			p = strings.TrimPrefix(p, "../")
		}
		first, _, _ := strings.Cut(p, "/")
		taken[first] = true
	}
	name := "book"
	for i := 2; taken[name]; i++ {
		name = "book" + strconv.Itoa(i)
	}
	return name
}

// buildDepth is how many folders up from the site mdBook writes: a file that
// book.toml names by a path that leads out of the book is copied by the same path
// from the site, and so is the page for unknown addresses.
func buildDepth(config book.Config) int {
	depth := book.Ascent(config.Input404)
	for _, p := range slices.Concat(config.AdditionalCSS, config.AdditionalJS) {
		depth = max(depth, book.Ascent(p))
	}
	return min(depth, book.MaxAscent)
}

// tree are a book's files by the paths that messages have: from the book's root where no
// file is outside of it.
type tree struct {
	files   map[string][]byte
	entries map[string]entry
	source  string
}

func (l layout) tree() tree {
	t := tree{files: make(map[string][]byte, len(l.entries)), entries: make(map[string]entry, len(l.entries)), source: l.source}
	within := l.root + "/"
	if l.root == "" || slices.ContainsFunc(l.entries, func(e entry) bool { return !strings.HasPrefix(e.path, within) }) {
		within = ""
	}
	for _, e := range l.entries {
		p := strings.TrimPrefix(e.path, within)
		t.files[p], t.entries[p] = e.content, e
	}
	if within != "" {
		t.source = path.Join(".", strings.TrimPrefix(t.source+"/", within))
	}
	return t
}

// held are the folders below the volume's mount that hold an entry.
func (l layout) held() map[string]bool {
	held := map[string]bool{".": true, "/": true}
	for _, e := range l.entries {
		for folder := path.Dir(e.path); !held[folder]; folder = path.Dir(folder) {
			held[folder] = true
		}
	}
	return held
}

// emptyFolders are those of folders, paths from the book's root, that hold no entry.
func (l layout) emptyFolders(folders []string) []string {
	held := l.held()
	var empty []string
	for _, folder := range slices.Sorted(slices.Values(folders)) {
		folder = l.below(folder)
		if !held[folder] && !slices.Contains(empty, folder) {
			empty = append(empty, folder)
		}
	}
	return empty
}

func isFlat(b book.Book) bool {
	// Above the mount, where a folder of pages needs none, there is nothing to be found.
	holds := func(folder string) bool { return path.Base(folder) != ".." }
	if b.Toml != nil || len(b.Files) > 0 || slices.ContainsFunc(b.Folders, holds) {
		return false
	}
	for p, content := range b.Pages {
		if len(content) > valueBytes || strings.Contains(p, "/") || !mdbook.IsPage(p) || strings.HasPrefix(p, revisionFile) || strings.HasPrefix(p, "..") {
			return false
		}
	}
	return true
}
