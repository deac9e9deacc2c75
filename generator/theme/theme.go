// Package theme finds what keeps mdBook 0.5.4 from rendering with a book's theme:
// templates that it can't read or that call what isn't there, and icons that it
// doesn't have.
//
// The package is pure: bytes in, faults out. It may import the type of
// faults and the standard library only.
package theme

import "path"

// IsPart reports whether mdBook reads the file of that path below a theme's folder, or
// files in the folder of that path.
func IsPart(rel string) bool {
	switch rel {
	case "index.hbs", "head.hbs", "redirect.hbs", "header.hbs", "toc.js.hbs", "toc.html.hbs",
		"book.js", "highlight.js", "clipboard.min.js",
		"highlight.css", "tomorrow-night.css", "ayu-highlight.css",
		"css", "css/chrome.css", "css/general.css", "css/print.css", "css/variables.css",
		"fonts", "favicon.png", "favicon.svg":
		return true
	}
	return path.Dir(rel) == "fonts"
}
