package links

import (
	"bytes"
	"iter"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"

	"github.com/zoetrope/markdown-view/generator/summary/commonmark"
)

// markdown reads pages with those of mdBook's extensions that change what is a
// link: [^1] is none. It is safe for concurrent use.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Footnote, extension.Table)).Parser()

// brokenLinks yields the links and images of a page that are broken, with their
// offsets.
func brokenLinks(source []byte, broken func(link) bool) iter.Seq2[int, link] {
	return func(yield func(int, link) bool) {
		r := reader{source: source, broken: broken, yield: yield}
		_ = ast.Walk(markdown.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering || r.node(n) {
				return ast.WalkContinue, nil
			}
			return ast.WalkStop, nil
		})
	}
}

// reader yields links until it is told to stop, which its methods return.
type reader struct {
	source []byte
	broken func(link) bool
	yield  func(int, link) bool
}

func (r *reader) link(at int, l link) bool {
	return !r.broken(l) || r.yield(at, l)
}

func (r *reader) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Link:
		return r.link(n.Pos(), link{destination: commonmark.Unescape(n.Destination)})
	case *ast.Image:
		return r.link(n.Pos(), link{destination: commonmark.Unescape(n.Destination), image: true})
	case *ast.RawHTML:
		return r.html(n.Segments)
	case *ast.HTMLBlock:
		return r.html(n.Lines())
	}
	return true
}

// html looks for <a href> and <img src>.
func (r *reader) html(lines *text.Segments) bool {
	if lines.Len() == 0 {
		return true
	}
	at := lines.At(0).Start
	source := r.source[at:lines.At(lines.Len()-1).Stop]
	if !htmlSuspicious(source, r.broken) {
		return true
	}
	tokens := html.NewTokenizer(bytes.NewReader(source))
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return true
		}
		begin := at
		at += len(tokens.Raw())
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
			if !r.tag(begin, tokens) {
				return false
			}
		}
	}
}

func (r *reader) tag(at int, tokens *html.Tokenizer) bool {
	name, more := tokens.TagName()
	attribute := map[string]string{"a": "href", "img": "src"}[string(name)]
	for more {
		var key, value []byte
		key, value, more = tokens.TagAttr()
		if string(key) == attribute && !r.link(at, link{destination: string(value), image: attribute == "src", raw: true}) {
			return false
		}
	}
	return true
}
