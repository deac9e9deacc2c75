package links

import (
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/zoetrope/markdown-view/generator/mdbook"
	"github.com/zoetrope/markdown-view/generator/summary"
)

// site is what mdBook makes of a book, by slash path below the site's root.
type site struct {
	files    map[string]bool             // pages and all that is copied
	folders  map[string]bool             // that have files in them
	chapters map[string]*summary.Chapter // by path below src
	sources  map[string]string           // the files below src by their path, also in small letters
}

func newSite(files map[string][]byte, src string, s *summary.Summary) *site {
	t := &site{files: map[string]bool{}, folders: map[string]bool{".": true},
		chapters: map[string]*summary.Chapter{}, sources: map[string]string{}}
	for _, name := range mdbook.SitePages {
		t.add(name)
	}
	for file := range files {
		name := file
		if src != "." {
			var inside bool
			if name, inside = strings.CutPrefix(file, src+"/"); !inside {
				continue
			}
		}
		t.addSource(name)
		if !mdbook.IsPage(name) {
			t.add(name)
		}
	}
	for c := range s.Chapters() {
		if !c.Draft() {
			t.chapters[c.Path()] = c
			t.add(c.HTML())
		}
	}
	return t
}

func (t *site) add(name string) {
	t.files[name] = true
	for name = path.Dir(name); !t.folders[name]; name = path.Dir(name) {
		t.folders[name] = true
	}
}

// addSource makes a file known by its name and by that in small letters; of
// several that differ in nothing else, the first in order.
func (t *site) addSource(name string) {
	t.sources[name] = name
	lower := strings.ToLower(name)
	if other, ok := t.sources[lower]; !ok || other != lower && name < other {
		t.sources[lower] = name
	}
}

// foreign matches what isn't for this check: other hosts and schemes, fragments of
// the same page, and paths from the root of a host that may serve more than
// the book.
var foreign = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9+.-]*:|[/#?]|$)`)

// link is a link or an image in a page, or a candidate for one.
type link struct {
	destination string
	image       bool // an <img>, or ![]()
	raw         bool // in HTML
}

// target is where a browser goes from a page in a folder of the site.
func (l link) target(folder string) string {
	name := l.destination
	if !l.raw || !l.image {
		name = mdbook.LinkToHTML(name)
	}
	if i := strings.IndexAny(name, "?#"); i >= 0 {
		name = name[:i]
	}
	if decoded, err := url.PathUnescape(name); err == nil {
		name = decoded
	}
	return path.Join(folder, name)
}

// broken reports whether a link in a page of a folder leads nowhere.
func (t *site) broken(l link, folder string) bool {
	if foreign.MatchString(l.destination) {
		return false
	}
	target := l.target(folder)
	return !t.files[target] && (l.image || !t.files[path.Join(target, mdbook.FrontPage)])
}

// fault says why a broken link leads nowhere, as the end of a sentence.
func (t *site) fault(l link, folder string) string {
	target := l.target(folder)
	source := link{destination: l.destination, image: true, raw: true}.target(folder) // as it is written
	switch {
	case t.folders[target]:
		return "it is a folder without an index.html"
	case source == ".." || strings.HasPrefix(source, "../"):
		return "it is outside the book's src folder, so it isn't in the site"
	}
	page := strings.TrimSuffix(source, path.Ext(source)) + mdbook.PageEnding
	for _, name := range []string{source, page} {
		spelled := t.sources[name]
		if spelled == "" {
			spelled = t.sources[strings.ToLower(name)]
		}
		switch chapter := t.chapters[name]; {
		case spelled == "":
		case spelled != name:
			return "did you mean " + spelled + "?"
		case chapter != nil && l.image:
			return "it is a page, and mdBook renders it to " + chapter.HTML()
		case chapter != nil && path.Base(chapter.HTML()) == mdbook.FrontPage:
			return "mdBook renders the page to " + chapter.HTML() + ", write " + folderOf(l.destination)
		case chapter == nil && mdbook.IsPage(name):
			return name + " isn't a chapter, so mdBook doesn't render it: list it in " + summary.FileName
		default:
			return "mdBook takes .md for its ending and links to " + target
		}
	}
	return "the book has no such file"
}

// folderOf turns a link to a file into one to its folder.
func folderOf(destination string) string {
	name, fragment, found := strings.Cut(destination, "#")
	name = name[:strings.LastIndexByte(name, '/')+1]
	if name == "" {
		name = "./"
	}
	if found {
		name += "#" + fragment
	}
	return name
}
