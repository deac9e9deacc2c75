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

// linksOf yields the links and images of a page with their offsets.
func linksOf(source []byte) iter.Seq2[int, link] {
	return func(yield func(int, link) bool) {
		_ = ast.Walk(markdown.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering || yieldNode(source, n, yield) {
				return ast.WalkContinue, nil
			}
			return ast.WalkStop, nil
		})
	}
}

func yieldNode(source []byte, n ast.Node, yield func(int, link) bool) bool {
	switch n := n.(type) {
	case *ast.Link:
		return yield(n.Pos(), link{destination: commonmark.Unescape(n.Destination)})
	case *ast.Image:
		return yield(n.Pos(), link{destination: commonmark.Unescape(n.Destination), image: true})
	case *ast.RawHTML:
		return yieldHTML(source, n.Segments, nil, yield)
	case *ast.HTMLBlock:
		return yieldHTML(source, n.Lines(), &n.ClosureLine, yield)
	}
	return true
}

// yieldHTML yields the <a href> and <img src> of some segments of a page.
func yieldHTML(source []byte, segments *text.Segments, closure *text.Segment, yield func(int, link) bool) bool {
	if segments.Len() == 0 {
		return true
	}
	first, last := segments.At(0).Start, segments.At(segments.Len()-1).Stop
	if closure != nil && closure.Stop > last {
		last = closure.Stop
	}
	block := source[first:last]
	tokens := html.NewTokenizer(bytes.NewReader(block))
	offset := first
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return true
		}
		at := offset
		offset += len(tokens.Raw())
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		name, more := tokens.TagName()
		attribute := map[string]string{"a": "href", "img": "src"}[string(name)]
		for more && attribute != "" {
			var key, value []byte
			key, value, more = tokens.TagAttr()
			if string(key) == attribute && !yield(at, link{destination: string(value), image: attribute == "src", raw: true}) {
				return false
			}
		}
	}
}
