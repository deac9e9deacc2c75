package generator

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/mdbook"
	"github.com/zoetrope/markdown-view/generator/summary"
)

// site is what mdBook has written when it comes to the redirects, and what it then
// copies: slash paths below the site's root.
type site struct {
	chapters map[string]string // the source page of a chapter by the file that it is rendered to
	files    map[string]bool
	folders  map[string]bool
	// copied are the files of the source folder that come last, copiedFolders the
	// folders that they are in.
	copied, copiedFolders map[string]bool
}

func (c *checker) newSite(s *summary.Summary) *site {
	t := &site{chapters: map[string]string{}, files: map[string]bool{}, folders: map[string]bool{".": true},
		copied: map[string]bool{}, copiedFolders: map[string]bool{".": true}}
	// Other files of mdBook's own have names with a hash.
	t.add(mdbook.NoJekyll)
	for _, file := range mdbook.SitePages {
		t.add(file)
	}
	for _, folder := range mdbook.SiteFolders {
		addFolders(t.folders, folder)
	}
	for chapter := range s.Chapters() {
		if !chapter.Draft() {
			t.chapters[chapter.HTML()] = chapter.Path()
			t.add(chapter.HTML())
		}
	}
	for page := range c.book.Pages {
		if mdbook.IsPage(page) {
			// It isn't copied, but mdBook makes its folder, if that isn't there by then.
			addFolders(t.copiedFolders, path.Dir(path.Dir(page)))
			continue
		}
		t.copied[page] = true
		addFolders(t.copiedFolders, path.Dir(page))
	}
	return t
}

func (t *site) add(file string) {
	t.files[file] = true
	addFolders(t.folders, path.Dir(file))
}

func addFolders(folders map[string]bool, folder string) {
	for ; !folders[folder] && folder != "/"; folder = path.Dir(folder) {
		folders[folder] = true
	}
}

// addAdditional adds a style sheet or script of book.toml, and reports whether mdBook can
// write it to the site. With a dot in it a name gets a hash at that place, so that it is
// nothing else's; without, it may be a folder's.
func (t *site) addAdditional(file string) bool {
	if strings.Contains(file, ".") {
		return true
	}
	if t.folders[file] || t.copiedFolders[file] {
		return false
	}
	t.add(file)
	return true
}

// redirect is what book.toml says of an address: where it leads to, and whether it says
// so of the page itself or of headings only.
type redirect struct {
	address string // as written, without the heading
	target  string
	written string // for messages
}

// combined lists the redirects in mdBook's order, those of headings with their page.
func combined(redirects map[string]string) []redirect {
	byAddress := map[string]redirect{}
	for _, written := range slices.Sorted(maps.Keys(redirects)) {
		address, isHeading := written, false
		if i := strings.LastIndexByte(written, '#'); i >= 0 {
			address, isHeading = written[:i], true
		}
		r, ok := byAddress[address]
		if !ok {
			r = redirect{address: address, written: written}
		}
		if !isHeading {
			r.target, r.written = redirects[written], written
		}
		byAddress[address] = r
	}
	list := make([]redirect, 0, len(byAddress))
	for _, address := range slices.Sorted(maps.Keys(byAddress)) {
		list = append(list, byAddress[address])
	}
	return list
}

// checkRedirects finds additional files and redirects that mdBook can't write, so that it
// fails, and redirects that have no effect. It returns the pages that mdBook makes of the
// others.
func (c *checker) checkRedirects(s *summary.Summary) []string {
	if c.config.HTMLIgnored && c.usesDefaultImage() {
		return nil
	}
	t := c.newSite(s)
	for _, file := range slices.Concat(c.config.AdditionalCSS, c.config.AdditionalJS) {
		if !t.addAdditional(file) {
			c.complain(c.chaptersStay(), "output.html.additional-css or -js names %s, which has the name of a folder of the site: rename it", file)
		}
	}
	var made []string
	for _, r := range combined(c.config.Redirects) {
		name := path.Clean(strings.TrimLeft(r.address, "/"))
		if page, ok := t.chapters[name]; ok && r.address == "/"+name {
			if _, ok := c.config.Redirects[r.address]; ok {
				c.complain(c.chaptersStay(), "output.html.redirect redirects %s, which is the chapter %s: drop the redirect or the chapter", r.address, page)
			}
			continue
		}
		fault, exists := t.redirectFault(r)
		switch {
		case fault == "" && slices.Contains(strings.Split(r.address, "/"), ".."):
			c.warnOfConfig(0, `output.html.redirect redirects %.120q, which holds "..": write the address that it leads to`, r.written)
			made = append(made, name)
		case fault != "":
			c.complain(c.chaptersStay(), "output.html.redirect redirects %.120q, %s", r.written, fault)
		case exists && r.target != "":
			c.warnOfConfig(0, "output.html.redirect redirects %.120q, but that is in the site, so mdBook passes over the redirect: drop it", r.written)
		case !exists:
			t.add(name)
			made = append(made, name)
		}
	}
	return made
}

// redirectFault says why mdBook can't write the page that redirects from an address, or
// would write it outside of the site; otherwise, whether the address is there already.
func (t *site) redirectFault(r redirect) (fault string, exists bool) {
	const longestName, longestPath = 255, 4000 // in bytes, of a file
	address := strings.TrimLeft(r.address, "/")
	name := path.Clean(address)
	isFolder := address == "" || strings.HasSuffix(address, "/") || strings.HasSuffix(address, "/.") || address == "."
	switch {
	case name == "..", strings.HasPrefix(name, "../"):
		return `which leads out by "..": write an address within the site`, false
	case t.folders[name], t.files[name] && !isFolder:
		return "", true
	case r.target == "" && r.written != r.address:
		return "a heading of a page that isn't in the site: add a redirect of the page itself, without #, for all else", false
	case r.target == "":
		return "to nowhere: write where to", false
	case isFolder:
		return "which is a folder: name the page, /old/index.html say", false
	case strings.ContainsRune(address, 0):
		return "which holds a NUL character: drop it", false
	case len(address) > longestPath:
		return "which is too long for a file's path: shorten it", false
	case t.copiedFolders[name]:
		return "which is a folder of the book's files: name a page in it", false
	}
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > longestName {
			return "of which a part has more than 255 bytes: shorten it", false
		}
	}
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if page, ok := t.chapters[folder]; ok {
			return "which would be below the page of the chapter " + page + ": drop it", false
		}
		if t.files[folder] || t.copied[folder] {
			return "which would be below the file " + folder + ": drop it", false
		}
	}
	return "", false
}

// checkSearch finds paths with settings for the search that are no chapter's, with
// which mdBook fails.
func (c *checker) checkSearch(s *summary.Summary) {
	if c.config.HTMLIgnored {
		return
	}
	known := map[string]bool{}
	for chapter := range s.Chapters() {
		if !chapter.Draft() {
			known[chapter.Path()] = true
			addFolders(known, path.Dir(chapter.Path()))
		}
	}
	for _, written := range c.config.SearchChapters {
		if known[searchPath(written)] {
			continue
		}
		advice := "write the path of a page, or of a folder of pages, below the source folder"
		if rest, ok := strings.CutPrefix(written, "./"); ok && known[searchPath(rest)] {
			advice = "write " + rest
		}
		c.complain(c.chaptersStay(), "output.html.search.chapter has settings for %.120q, which is no chapter's path, nor the beginning of one: %s", written, advice)
	}
}

// searchPath is a path as Rust compares it with others: only what is doubled doesn't
// count. "." is that of nothing, which each path begins with.
func searchPath(written string) string {
	if strings.HasPrefix(written, "/") || strings.HasPrefix(written, "./") || written == "." {
		return "./" + written // no page's
	}
	var elements []string
	for element := range strings.SplitSeq(written, "/") {
		if element != "" && element != "." {
			elements = append(elements, element)
		}
	}
	if len(elements) == 0 {
		return "."
	}
	return strings.Join(elements, "/")
}
