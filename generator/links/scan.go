package links

import (
	"bytes"
	"html"

	"github.com/yuin/goldmark/util"

	"github.com/zoetrope/markdown-view/generator/summary/commonmark"
)

// longest is the length up to which a destination may be a file's path.
const longest = 1024

// suspicious reports whether anything in a text that could be the destination of
// a link or an image is broken. It knows nothing of code and the like, so only a
// reading with goldmark reports whether it is one; but it finds every link that
// goldmark finds, and spares sound pages that reading, which takes fifty times
// as long and twenty times the page's memory.
func suspicious(text []byte, broken func(link) bool) bool {
	return markdownSuspicious(text, broken) || htmlSuspicious(text, broken)
}

// markdownSuspicious looks at what follows ]( and ]:.
func markdownSuspicious(text []byte, broken func(link) bool) bool {
	for at := 0; ; at++ {
		i := bytes.IndexByte(text[at:], ']')
		if i < 0 || at+i+1 == len(text) {
			return false
		}
		at += i + 1
		if text[at] != '(' && (text[at] != ':' || isFootnote(text[:at-1])) {
			at--
			continue
		}
		destination := commonmark.Unescape(rawDestination(text[at+1:], text[at] == '('))
		// An image needs a file, a link may lead to a folder: see for both.
		if broken(link{destination: destination}) || broken(link{destination: destination, image: true}) {
			return true
		}
	}
}

// isFootnote reports whether the label that ends a text is a footnote's.
func isFootnote(text []byte) bool {
	text = text[max(0, len(text)-longest):]
	return bytes.HasPrefix(text[bytes.LastIndexByte(text, '[')+1:], []byte("^"))
}

// rawDestination reads a link's destination at the beginning of a text, after
// white space and the marks of a quote in the next line.
func rawDestination(text []byte, inline bool) []byte {
	const white = " \t\r\n\v\f"
	text = text[:min(len(text), longest)]
	rest := bytes.TrimLeft(text, white)
	if bytes.IndexByte(text[:len(text)-len(rest)], '\n') >= 0 {
		rest = bytes.TrimLeft(rest, white+">")
	}
	text = rest
	if bytes.HasPrefix(text, []byte("<")) {
		end := bytes.IndexAny(text, ">\n")
		return text[1:max(1, end)]
	}
	open := 0
	for i, c := range text {
		switch {
		case util.IsSpace(c):
			return text[:i]
		case c == '(' && (i == 0 || text[i-1] != '\\'):
			open++
		case c == ')' && inline && (i == 0 || text[i-1] != '\\'):
			if open--; open < 0 {
				return text[:i]
			}
		}
	}
	return text
}

// htmlSuspicious looks at what follows href= and src=.
func htmlSuspicious(text []byte, broken func(link) bool) bool {
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '=')
		if i < 0 {
			return false
		}
		name := bytes.TrimRight(text[max(0, at+i-longest):at+i], " \t\r\n")
		at += i + 1
		isSrc := hasSuffixFold(name, "src")
		if !isSrc && !hasSuffixFold(name, "href") {
			continue
		}
		if broken(link{destination: html.UnescapeString(string(rawValue(text[at:]))), image: isSrc, raw: true}) {
			return true
		}
	}
}

func hasSuffixFold(name []byte, suffix string) bool {
	return len(name) >= len(suffix) && bytes.EqualFold(name[len(name)-len(suffix):], []byte(suffix))
}

// rawValue reads an attribute's value.
func rawValue(text []byte) []byte {
	text = bytes.TrimLeft(text[:min(len(text), longest)], " \t\r\n")
	if len(text) == 0 {
		return nil
	}
	stop := " \t\r\n>"
	if quote := text[0]; quote == '"' || quote == '\'' {
		text, stop = text[1:], string(quote)
	}
	if end := bytes.IndexAny(text, stop); end >= 0 {
		return text[:end]
	}
	return text
}
