package directory

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
	themes "github.com/zoetrope/markdown-view/generator/theme"
)

// project is a book whose folder is read.
type project struct {
	*reader
	frame
	config   book.Config
	src      string // the source folder, from the book's root; "" for the root
	srcWay   string // the way to it
	buildDir string // from the book's root; "" for none
	toml     []byte // of the book that is served
	// beside are the files that come along, by path from the book's root.
	beside map[string]file
	// through are the folders that ways lead through.
	through map[string]bool
	// up is how many folders above the book's root pages look for files, also in vain:
	// mdBook is to find no other there.
	up int
	// reals are where the book's files are in the file system, by path from the
	// book's root.
	reals map[string]string
}

func (r *reader) newProject(config book.Config, f frame) *project {
	return &project{
		reader: r, frame: f, config: config,
		src:    f.canonical(rootAsEmpty(config.Src)),
		beside: map[string]file{}, through: map[string]bool{}, reals: map[string]string{},
	}
}

// readProject reads an mdBook project. finalToml, unless it is empty or faulty, takes
// the place of the project's own book.toml: what is read is what mdBook would read
// with that.
func (r *reader) readProject(ownToml, finalToml []byte) book.Book {
	own, ownErr := book.ParseConfig(ownToml)
	// What is wrong with it isn't this folder's fault, and is said elsewhere.
	config, err := book.ParseConfig(finalToml)
	replaced := len(finalToml) > 0 && err == nil
	switch {
	case replaced:
	case ownErr != nil:
		r.failToml(ownErr)
		return book.Book{}
	default:
		config = own
	}
	p := r.newProject(config, projectFrame(r.root))
	p.srcWay = config.Ways(config.Src)[0]
	p.toml = ownToml
	p.reals[book.ConfigPath], _, _ = p.resolve(p.root, book.ConfigPath)
	if config.BuildDir != "" {
		p.buildDir = p.canonical(config.BuildDir)
	}
	hint := ""
	if replaced {
		p.toml = finalToml
		if ownErr == nil && own.Src != config.Src {
			hint = own.Src
		}
	}
	b := p.read(replaced, hint)
	b.Toml = ownToml
	if r.root != "." {
		b.Root = r.root
	}
	return b
}

// readPages reads a folder that is the source folder of a book.
func (r *reader) readPages(finalToml []byte) book.Book {
	config, err := book.ParseConfig(finalToml)
	if err != nil { // which is said elsewhere
		config, _ = book.ParseConfig(nil)
	}
	p := r.newProject(config, sourceFrame(r.root, rootAsEmpty(config.Src)))
	pages := p.walk(p.root, "", "", nil)
	if !p.fit(pages) {
		return book.Book{}
	}
	for _, page := range pages {
		page.rel = p.canonical(path.Join(p.src, page.rel))
		p.claim(page)
	}
	b := book.Book{Pages: p.readFiles(pages, ""), Files: map[string][]byte{}}
	p.addIncludes(&b)
	if len(b.Files) == 0 {
		b.Files = nil
	}
	return b
}

// read reads the files of a project.
func (p *project) read(replaced bool, ownSrc string) book.Book {
	p.findBeside()
	pages := p.findPages(replaced, ownSrc)
	beside := slices.SortedFunc(maps.Values(p.beside), func(a, b file) int { return strings.Compare(a.rel, b.rel) })
	if !p.fit(slices.Concat(pages, beside)) {
		return book.Book{}
	}
	for _, page := range pages {
		page.rel = p.canonical(page.rel)
		p.claim(page)
	}
	if len(p.errs) > 0 {
		return book.Book{}
	}
	b := book.Book{Pages: p.readFiles(pages, p.src), Files: p.readFiles(beside, "")}
	p.addIncludes(&b)
	return b
}

func (r *reader) failToml(err error) {
	faults := diagnostic.FromError(err)
	for _, fault := range faults {
		r.fail(book.ConfigPath, fault.Line, fault.Message)
	}
}

// rootAsEmpty turns a folder of a [book.Config] into one as this package has it.
func rootAsEmpty(folder string) string {
	if folder == "." {
		return ""
	}
	return folder
}

// holdsRoot reports whether the book's root is, or is in, its own source folder.
func (p *project) holdsRoot() bool {
	return p.src == "" || path.Base(p.src) == ".."
}

// findPages finds the files of the source folder. Where that holds the root, what
// mdBook finds there by itself isn't among them: it comes along beside them. replaced
// says that the view's bookToml names the source folder, and ownSrc is what the
// project's own book.toml names, if that is another.
func (p *project) findPages(replaced bool, ownSrc string) []file {
	names, hint := book.ConfigPath+" names it", ""
	if replaced {
		names = "bookToml names it"
	}
	if ownSrc != "" {
		hint = "; the project's own " + book.ConfigPath + " names " + ownSrc + ": add src = \"" + ownSrc + "\" to [book]"
	}
	if p.src != "" && p.ignore.ignoresWithin(p.src, true) {
		p.failf(p.src, "is ignored, but %s as the source folder%s", names, hint)
		return nil
	}
	_, through, traced := p.trace(p.srcWay)
	real, info, err := p.resolve(p.root, p.srcWay)
	switch {
	case !traced, errors.Is(err, errOutside):
		p.failf("", "%s the source folder %s, which is outside of %s%s", strings.TrimSuffix(names, " it"), printable(p.config.Src), p.base, hint)
		return nil
	case errors.Is(err, fs.ErrNotExist) && p.config.Src == book.DefaultSrc && hint == "":
		p.failf(p.src, "no such folder: SUMMARY.md and the pages are there, unless %s has another one as src in [book]", strings.TrimSuffix(names, " names it"))
		return nil
	case errors.Is(err, fs.ErrNotExist):
		p.failf(p.src, "no such folder: %s as the source folder, where SUMMARY.md is%s", names, hint)
		return nil
	case err != nil:
		p.failResolve(p.src, err)
		return nil
	case !info.IsDir():
		p.failf(p.src, "is a file, not a folder: %s as the source folder%s", names, hint)
		return nil
	}
	p.keep(through)
	theme := p.canonical(rootAsEmpty(p.config.Theme))
	return p.walk(real, p.src, p.src, func(rel string) bool {
		rel = p.canonical(rel)
		_, isBeside := p.beside[rel]
		return rel == p.buildDir || p.holdsRoot() && (rel == book.ConfigPath || rel == theme || isBeside)
	})
}

// findBeside finds the files that mdBook looks for beside the pages. What is missing
// isn't an error here: whoever configures mdBook is told.
func (p *project) findBeside() {
	for _, way := range p.config.Ways(p.config.Theme) {
		p.findTheme(way)
	}
	for _, rel := range slices.Concat(p.config.AdditionalCSS, p.config.AdditionalJS) {
		p.findFile(rel, p.isPage)
	}
	if p.config.Input404 != "" {
		p.findFile(p.config.Page404(), func(rel string) bool {
			_, isPage := p.inSource(rel)
			return isPage
		})
	}
}

// findFile finds a file that the configuration names, unless it is found with the
// pages.
func (p *project) findFile(rel string, isPage func(rel string) bool) {
	for _, way := range p.config.Ways(rel) {
		f, _, ok := p.find(way)
		if !ok || isPage(f.rel) || f.rel == book.ConfigPath {
			continue
		}
		if _, known := p.beside[f.rel]; !known && p.accept(f, f.mode) {
			p.beside[f.rel] = f
		}
	}
}

func (p *project) findTheme(way string) {
	at, through, ok := p.trace(way)
	theme := relative(p.rootNames, at)
	if !ok || p.isPage(theme) || theme == p.src || theme != "" && p.ignore.ignoresWithin(theme, true) {
		return
	}
	real, info, err := p.resolve(p.root, way)
	switch {
	case isMissing(err):
		return
	case err != nil:
		p.failResolve(theme, err)
		return
	case !info.IsDir():
		return
	}
	p.keep(through)
	for _, f := range p.walk(real, theme, "", func(rel string) bool {
		// From outside comes only what mdBook reads.
		foreign := book.Ascent(theme) > 0 && !themes.IsPart(within(theme, rel))
		rel = p.canonical(rel)
		return foreign || rel == book.ConfigPath || rel == p.buildDir || rel == p.src
	}) {
		f.rel = p.canonical(f.rel)
		if p.claim(f) {
			p.beside[f.rel] = f
		}
	}
}

// isPage reports whether a path is in a source folder beside the root's other files,
// so that it is found with the pages.
func (p *project) isPage(rel string) bool {
	_, inSource := p.inSource(rel)
	return !p.holdsRoot() && (rel == p.src || inSource)
}
