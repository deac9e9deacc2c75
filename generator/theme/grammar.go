package theme

import (
	"strings"
	"unicode/utf8"
)

// template is what mdBook's template engine, handlebars-rust 6.4.2, reads: pieces of
// text, which are left out here, and tags.
type template []tag

// tag is one {{…}}, with what is inside of it if it is a block.
type tag struct {
	offset int
	kind   kind
	call   call
	// inside is what is between the tags of a block, up to its first {{else}}.
	inside template
	// others are what comes after each {{else}} of a block, with what that calls.
	others []branch
	// end is the name in the closing tag of a block.
	end string
}

type branch struct {
	call   *call // nil for a plain {{else}}
	inside template
}

// kind is what a tag does.
type kind int

const (
	value     kind = iota // {{name}}, or {{helper argument}}
	block                 // {{#helper}}…{{/helper}}
	raw                   // {{{{helper}}}}…{{{{/helper}}}}
	decorator             // {{* name}}
	decorated             // {{#* name}}…{{/name}}
	partial               // {{> name}}
	wrapped               // {{#> name}}…{{/name}}
)

// call is a helper, a value, a decorator or a partial by its name, with arguments.
type call struct {
	offset int
	name   string
	// computed is the expression in parentheses that stands in place of the name.
	computed *call
	args     []argument
}

// argument is one of: text, a literal or a path as written, or an expression in
// parentheses.
type argument struct {
	key     string // of key=value
	text    string
	literal bool
	call    *call
}

// parser follows the grammar of handlebars-rust, src/grammar.pest: each method is one
// of its rules or a part of one, and moves on only when it returns true. The order of
// choices is the grammar's, and so is where white space may be.
type parser struct {
	text string
	pos  int
	// furthest is the last place where something else was expected.
	furthest int
	depth    int
	tooDeep  bool
}

// maxDepth is how deep expressions and blocks may be nested here. What is deeper isn't
// judged.
const maxDepth = 100

// parse reads a template. It returns the offset at which the template can't be read, or
// -1. known is false if it can't be told.
func parse(text string) (t template, fault int, known bool) {
	p := &parser{text: text}
	t = p.template()
	p.skip()
	switch {
	case p.tooDeep:
		return nil, -1, false
	case p.pos < len(text):
		p.miss()
		return nil, p.furthest, true
	}
	return t, -1, true
}

func (p *parser) miss() bool {
	p.furthest = max(p.furthest, p.pos)
	return false
}

// try moves back if a rule fails.
func (p *parser) try(rule func() bool) bool {
	at := p.pos
	if rule() {
		return true
	}
	p.pos = at
	return false
}

// ahead reports whether a rule would match here.
func (p *parser) ahead(rule func() bool) bool {
	at, furthest := p.pos, p.furthest
	ok := rule()
	p.pos, p.furthest = at, furthest
	return ok
}

// nested guards a rule that can contain itself.
func (p *parser) nested(rule func() bool) bool {
	if p.depth++; p.depth > maxDepth {
		p.tooDeep = true
	}
	ok := !p.tooDeep && p.try(rule)
	p.depth--
	return ok
}

func (p *parser) lit(s string) bool {
	if strings.HasPrefix(p.text[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return p.miss()
}

// next is a literal after white space.
func (p *parser) next(s string) bool {
	return p.try(func() bool { return p.skip() && p.lit(s) })
}

func (p *parser) skip() bool {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	return true
}

// any takes one character.
func (p *parser) any() bool {
	if p.pos == len(p.text) {
		return p.miss()
	}
	_, size := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += size
	return true
}

func (p *parser) until(end string) bool {
	i := strings.Index(p.text[p.pos:], end)
	if i < 0 {
		p.furthest = len(p.text)
		return false
	}
	p.pos += i + len(end)
	return true
}

func isSymbol(c byte) bool {
	return c >= utf8.RuneSelf || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-_$:", c) >= 0
}

func isPartialSymbol(c byte) bool {
	return isSymbol(c) && c != '$' && c != ':' || strings.IndexByte("@/.", c) >= 0
}

// run takes the bytes of a kind; there has to be one.
func (p *parser) run(is func(byte) bool) bool {
	start := p.pos
	for p.pos < len(p.text) && is(p.text[p.pos]) {
		p.pos++
	}
	return p.pos > start || p.miss()
}

func (p *parser) symbolAhead() bool { return p.pos < len(p.text) && isSymbol(p.text[p.pos]) }

func (p *parser) identifier() bool { return p.run(isSymbol) }
