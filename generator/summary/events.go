package summary

import (
	"bytes"
	"slices"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/zoetrope/markdown-view/generator/summary/commonmark"
)

// mdBook's reader is a machine that eats the events of pulldown_cmark, and much
// of what it accepts follows from their order only. So goldmark's tree is turned
// into that stream first, and machine.go is then that machine.

// event is one of pulldown_cmark's, reduced to what mdBook looks at.
type event struct {
	kind eventKind
	tag  tag    // of start and end
	pos  int    // offset in the source
	text string // of text; the destination of a link's start
}

type eventKind uint8

const (
	evStart eventKind = iota
	evEnd
	evText // text and code spans: what stringify_events keeps
	evSoftBreak
	evRule
	evHTML  // inline, or a line of a block
	evOther // hard breaks: of no meaning, but not nothing
)

// tag is what start and end enclose. An end closes a start of the same tag, so
// headings of different level and ordered and unordered lists differ, as in
// pulldown_cmark's TagEnd.
type tag uint8

const (
	tagParagraph tag = iota
	tagList
	tagOrderedList
	tagItem
	tagLink
	tagImage
	tagEmphasis
	tagStrong
	tagBlockQuote
	tagCodeBlock
	tagHTMLBlock
	tagHeading // +1 to +6, by level
)

const tagHeading1 = tagHeading + 1

func (e event) isList() bool {
	return e.kind == evStart && (e.tag == tagList || e.tag == tagOrderedList)
}

func (e event) starts(t tag) bool {
	return e.kind == evStart && e.tag == t
}

// markdown reads plain CommonMark: mdBook enables no extension of
// pulldown_cmark for SUMMARY.md. It is safe for concurrent use.
var markdown = parser.NewParser(
	parser.WithBlockParsers(parser.DefaultBlockParsers()...),
	parser.WithInlineParsers(parser.DefaultInlineParsers()...),
	parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
)

// emitter turns a tree into events.
type emitter struct {
	source      []byte
	events      []event
	pos         int   // of the node before, for nodes without one
	definitions []int // where link reference definitions on the top level end
	misread     []int // links that pulldown_cmark wouldn't read as such
}

// read parses Markdown that normalize has written.
func (e *emitter) read(source []byte) {
	e.source = source
	e.children(markdown.Parse(text.NewReader(source)))
}

func (e *emitter) emit(kind eventKind, t tag, text string) {
	e.events = append(e.events, event{kind: kind, tag: t, pos: e.pos, text: text})
}

func (e *emitter) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if pos := c.Pos(); pos >= 0 {
			e.pos = pos
		}
		e.node(c)
	}
}

// enclose emits a node's children between a start and an end.
func (e *emitter) enclose(t tag, n ast.Node, destination string) {
	e.emit(evStart, t, destination)
	e.children(n)
	e.emit(evEnd, t, "")
}

func (e *emitter) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.TextBlock: // a paragraph of a tight list
		e.children(n)
	case *ast.Paragraph:
		e.enclose(tagParagraph, n, "")
	case *ast.Heading:
		e.enclose(tagHeading+tag(n.Level), n, "")
	case *ast.List:
		if n.IsOrdered() {
			e.enclose(tagOrderedList, n, "")
		} else {
			e.enclose(tagList, n, "")
		}
	case *ast.ListItem:
		e.enclose(tagItem, n, "")
	case *ast.Blockquote:
		e.enclose(tagBlockQuote, n, "")
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		e.emit(evStart, tagCodeBlock, "")
		e.emit(evText, 0, "")
		e.emit(evEnd, tagCodeBlock, "")
	case *ast.HTMLBlock:
		e.htmlBlock(n)
	case *ast.ThematicBreak:
		e.emit(evRule, 0, "")
	case *ast.Link:
		if n.Reference == nil {
			e.destination(n.Destination)
		}
		e.enclose(tagLink, n, commonmark.Unescape(n.Destination))
	case *ast.Image:
		if n.Reference == nil {
			e.destination(n.Destination)
		}
		e.enclose(tagImage, n, commonmark.Unescape(n.Destination))
	case *ast.AutoLink:
		e.emit(evStart, tagLink, string(n.URL(e.source)))
		e.emit(evText, 0, string(n.Label(e.source)))
		e.emit(evEnd, tagLink, "")
	case *ast.Emphasis:
		if n.Level == 1 {
			e.enclose(tagEmphasis, n, "")
		} else {
			e.enclose(tagStrong, n, "")
		}
	case *ast.CodeSpan:
		e.emit(evText, 0, codeText(n, e.source))
	case *ast.RawHTML:
		e.emit(evHTML, 0, "")
	case *ast.Text:
		e.textNode(n)
	case *ast.LinkReferenceDefinition:
		e.destination(n.Destination)
		if lines := n.Lines(); n.Parent().Kind() == ast.KindDocument && lines.Len() > 0 {
			e.definitions = append(e.definitions, lines.At(lines.Len()-1).Stop)
		}
	}
}

// destination notes the destination of a link or a definition if goldmark accepts
// it and CommonMark doesn't: one in <> that contains another <, and one without <>
// whose parentheses don't match.
func (e *emitter) destination(destination []byte) {
	open, angle := 0, false
	for i := 0; i < len(destination); i++ {
		switch destination[i] {
		case '\\':
			i++
		case '(':
			open++
		case ')':
			open--
		case '<':
			angle = true
		}
	}
	if open == 0 && !angle {
		return
	}
	const farthest = 4096 // from the beginning of the link
	near := e.source[e.pos:min(e.pos+len(destination)+farthest, len(e.source))]
	quoted := bytes.Contains(near, slices.Concat([]byte{'<'}, destination, []byte{'>'}))
	if quoted && angle || !quoted && open != 0 {
		e.misread = append(e.misread, e.pos)
	}
}

// htmlBlock emits a block of HTML. pulldown_cmark takes an indent of its first
// line for text, so that an indented comment is nothing that mdBook skips on its
// way to the title.
func (e *emitter) htmlBlock(n *ast.HTMLBlock) {
	e.emit(evStart, tagHTMLBlock, "")
	if lines := n.Lines(); lines.Len() > 0 && e.source[lines.At(0).Start] == ' ' {
		e.emit(evText, 0, " ")
	}
	e.emit(evHTML, 0, "")
	e.emit(evEnd, tagHTMLBlock, "")
}

func (e *emitter) textNode(n *ast.Text) {
	if value := n.Segment.Value(e.source); len(value) > 0 {
		e.emit(evText, 0, commonmark.Unescape(value))
	}
	switch {
	case n.HardLineBreak():
		e.emit(evOther, 0, "")
	case n.SoftLineBreak():
		e.emit(evSoftBreak, 0, "")
	}
}

// codeText is a code span's text: its line ends are spaces.
func codeText(n *ast.CodeSpan, source []byte) string {
	var b []byte
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b = append(b, t.Segment.Value(source)...)
		}
	}
	return string(bytes.ReplaceAll(b, []byte{'\n'}, []byte{' '}))
}
