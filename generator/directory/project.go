package directory

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
)

// project is an mdBook project that is read.
type project struct {
	*reader
	src      string // the source folder, "" for the root
	buildDir string // "" for none
	// sameSource says that the book that is served has its source folder at the same
	// place. What is in it then needs no second copy.
	sameSource bool
	// beside are the files that come along, by path.
	beside map[string]file
}

// readProject reads an mdBook project. Its own book.toml says where its pages are;
// finalToml, unless empty, takes its place when the book is served, and so says which
// other files mdBook will look for.
func (r *reader) readProject(ownToml, finalToml []byte) book.Book {
	own, err := book.ParseConfig(ownToml)
	if err != nil {
		r.failToml(err)
		return book.Book{}
	}
	final := own
	if len(finalToml) > 0 {
		// What is wrong with it isn't this folder's fault, and is said elsewhere.
		if config, err := book.ParseConfig(finalToml); err == nil {
			final = config
		}
	}
	p := &project{
		reader:     r,
		src:        rootAsEmpty(own.Src),
		buildDir:   own.BuildDir,
		sameSource: own.Src == final.Src && own.Src != ".",
		beside:     map[string]file{},
	}
	p.findBeside(final)
	pages := p.findPages(rootAsEmpty(final.Theme))
	beside := slices.SortedFunc(maps.Values(p.beside), func(a, b file) int { return strings.Compare(a.rel, b.rel) })
	if !r.fit(slices.Concat(pages, beside)) {
		return book.Book{}
	}
	b := book.Book{Toml: ownToml, Pages: r.readFiles(pages, p.src), Files: r.readFiles(beside, "")}
	if final.ExpandsIncludes && len(r.errs) == 0 {
		p.addIncludes(&b)
	}
	return b
}

func (r *reader) failToml(err error) {
	if at, ok := errors.AsType[*book.ConfigError](err); ok {
		r.fail(book.ConfigPath, at.Line, at.Message)
		return
	}
	r.fail(book.ConfigPath, 0, err.Error())
}

// rootAsEmpty turns a folder of a [book.Config] into one as this package has it.
func rootAsEmpty(folder string) string {
	if folder == "." {
		return ""
	}
	return folder
}

// findPages finds the files of the source folder. When that is the root, what mdBook
// finds there by itself is left out: a site that shows its own configuration helps
// nobody.
func (p *project) findPages(theme string) []file {
	if p.src != "" && p.ignore.ignoresWithin(p.src, true) {
		p.failf(p.src, "is ignored, but %s names it as the source folder", book.ConfigPath)
		return nil
	}
	real, info, err := p.resolve(p.root, p.src)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.failf(p.src, "no such folder: %s names it as the source folder, where SUMMARY.md is", book.ConfigPath)
		return nil
	case err != nil:
		p.failResolve(p.src, err)
		return nil
	case !info.IsDir():
		p.failf(p.src, "is a file, not a folder: %s names it as the source folder", book.ConfigPath)
		return nil
	}
	return p.walk(real, p.src, p.src, func(rel string) bool {
		_, isBeside := p.beside[rel]
		return rel == p.buildDir || p.src == "" && (rel == book.ConfigPath || rel == theme || isBeside)
	})
}

// findBeside finds the files that mdBook looks for beside the pages. What is missing
// isn't an error here: whoever configures mdBook is told.
func (p *project) findBeside(config book.Config) {
	p.findTheme(rootAsEmpty(config.Theme))
	paths := slices.Concat(config.AdditionalCSS, config.AdditionalJS)
	// Of a book that is its own source folder the pages are served from another one.
	if config.Input404 != "" && config.Src != "." {
		paths = append(paths, config.Page404())
	}
	for _, rel := range paths {
		if _, ok := p.beside[rel]; ok || p.isPage(rel) || rel == book.ConfigPath {
			continue
		}
		if f, ok := p.lookUp(rel); ok {
			p.beside[rel] = f
		}
	}
}

func (p *project) findTheme(theme string) {
	if p.isPage(theme) || theme == p.src || theme != "" && p.ignore.ignoresWithin(theme, true) {
		return
	}
	real, info, err := p.resolve(p.root, theme)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotFolder):
		return
	case err != nil:
		p.failResolve(theme, err)
		return
	case !info.IsDir():
		return
	}
	for _, f := range p.walk(real, theme, "", func(rel string) bool {
		return rel == book.ConfigPath || rel == p.buildDir || rel == p.src
	}) {
		p.beside[f.rel] = f
	}
}

// isPage says whether a path is in the source folder, so that it is found with the
// pages.
func (p *project) isPage(rel string) bool {
	return p.sameSource && (rel == p.src || strings.HasPrefix(rel, p.src+"/"))
}
