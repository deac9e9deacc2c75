// Package mdbook says what mdBook does with the files of a book: which of them are pages,
// what a chapter's HTML is called, and what a site has of its own. It is of mdBook
// [Version], compared with the program itself, and imports the standard library only.
package mdbook

import (
	"path"
	"strings"
)

// Version is that of the mdBook that all of this is about.
const Version = "0.5.4"

// Files of every site that mdBook writes, but for those with a hash in their names:
// slash-separated paths below the site's root.
const (
	FrontPage    = "index.html"
	NotFoundPage = "404.html"
	PrintPage    = "print.html"
	ContentsPage = "toc.html"
	NoJekyll     = ".nojekyll"
)

// SitePages are those that every site has.
var SitePages = []string{FrontPage, NotFoundPage, PrintPage, ContentsPage}

// SiteFolders are those that every site has.
var SiteFolders = []string{"css", "fonts"}

// ReservedPage is a page of the source folder that mdBook keeps for [PrintPage].
const ReservedPage = "print.md"

// PageEnding is that of the names of pages.
const PageEnding = "." + pageExtension

const pageExtension = "md"

// IsPage reports whether a file of the source folder is a page: it is rendered if it is a
// chapter, and otherwise left out of the site. Every other file is copied to the site. What
// counts is that its extension is md, in small letters.
func IsPage(file string) bool {
	_, extension := split(path.Base(file))
	return extension == pageExtension
}

// HTML is the file of the site that a chapter is rendered to, whatever its extension:
// that becomes html, and a README becomes index.html.
func HTML(chapter string) string {
	folder, name := path.Split(chapter)
	stem, _ := split(name)
	if strings.EqualFold(stem, "readme") {
		stem = "index"
	}
	return folder + stem + ".html"
}

// CanRender reports whether mdBook can write the HTML of a chapter: of ..md it makes .., a
// folder.
func CanRender(chapter string) bool {
	stem, _ := split(path.Base(chapter))
	return stem != "."
}

// split divides a file's name as Rust's Path does: what begins with its only dot has no
// extension.
func split(name string) (stem, extension string) {
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		return name[:dot], name[dot+1:]
	}
	return name, ""
}

// LinkToHTML turns a link to a page into one to its HTML as mdBook does, whether the page
// is a chapter or not. What comes after the ending .md is lost, but for a fragment.
func LinkToHTML(destination string) string {
	i := strings.LastIndex(destination, PageEnding)
	if i < 0 {
		return destination
	}
	rest := destination[i+len(PageEnding):]
	if !strings.HasPrefix(rest, "#") {
		rest = ""
	}
	return destination[:i] + ".html" + rest
}
