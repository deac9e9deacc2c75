package theme

import "strings"

// template is a sequence of text and tags, up to what is neither.
func (p *parser) template() template {
	var t template
	for first := true; ; first = false {
		at := p.pos
		if !first {
			p.skip()
		}
		tag, isTag, ok := p.item()
		if !ok {
			p.pos = at
			return t
		}
		if isTag {
			t = append(t, tag)
		}
	}
}

// item is a text, a comment or a tag, which isTag tells.
func (p *parser) item() (t tag, isTag, ok bool) {
	if p.rawText() {
		return tag{}, false, true
	}
	t.offset = p.pos
	set := func(k kind, rule func() bool) bool {
		if !p.try(rule) {
			t = tag{offset: t.offset}
			return false
		}
		t.kind = k
		return true
	}
	switch {
	case set(value, func() bool { return p.expression(&t) }),
		set(value, func() bool { return p.htmlExpression(&t) }),
		set(block, func() bool { return p.block(&t) }),
		set(raw, func() bool { return p.rawBlock(&t) }):
		return t, true, true
	case p.try(p.comment):
		return tag{}, false, true
	case set(decorator, func() bool { return p.open("{{", "*") && p.line(&t.call) && p.shut("}}") }),
		set(decorated, func() bool { return p.wrapping(&t, "*", p.line, p.identifier) }),
		set(partial, func() bool { return p.open("{{", ">") && p.partialLine(&t.call) && p.shut("}}") }),
		set(wrapped, func() bool { return p.wrapping(&t, ">", p.partialLine, p.partialIdentifier) }):
		return t, true, true
	}
	return tag{}, false, false
}

// rawText is all up to the next {{ that no backslash escapes.
func (p *parser) rawText() bool {
	start := p.pos
	for p.pos < len(p.text) {
		if p.escape() {
			continue
		}
		if strings.HasPrefix(p.text[p.pos:], "{{") {
			break
		}
		p.plain()
	}
	return p.pos > start
}

// plain takes a character of a text, or several backslashes that escape nothing.
func (p *parser) plain() bool {
	rest := p.text[p.pos:]
	if slashes := len(rest) - len(strings.TrimLeft(rest, `\`)); slashes > 0 {
		p.pos += slashes
		return true
	}
	return p.any()
}

// escape is \{{ or \{{{{, or more than one backslash before {{.
func (p *parser) escape() bool {
	rest := p.text[p.pos:]
	slashes := len(rest) - len(strings.TrimLeft(rest, `\`))
	switch {
	case slashes == 0, !strings.HasPrefix(rest[slashes:], "{{"):
		return false
	case slashes > 1:
		p.pos += slashes
	case strings.HasPrefix(rest[slashes:], "{{{{"):
		p.pos += slashes + len("{{{{")
	default:
		p.pos += slashes + len("{{")
	}
	return true
}

// open is the beginning of a tag, such as {{~#.
func (p *parser) open(braces, sign string) bool {
	return p.lit(braces) && (p.next("~") || true) && p.next(sign)
}

// shut is the end of a tag, such as ~}}.
func (p *parser) shut(braces string) bool {
	p.next("~")
	return p.next(braces)
}

func (p *parser) expression(t *tag) bool {
	return !p.ahead(p.elseTag) && !p.ahead(func() bool { return p.elseChain(&call{}) }) &&
		p.lit("{{") && (p.next("~") || true) && p.callOrName(&t.call) && p.shut("}}")
}

// callOrName is a helper with arguments, or a name alone.
func (p *parser) callOrName(c *call) bool {
	*c = call{}
	if p.try(func() bool { return p.skip() && p.named(c, p.identifier) && p.arguments(c) }) {
		return true
	}
	*c = call{}
	return p.try(func() bool { return p.skip() && p.name(c) })
}

func (p *parser) htmlExpression(t *tag) bool {
	inside := func() bool { return p.callOrName(&t.call) }
	return p.try(func() bool { return p.lit("{{{") && (p.next("~") || true) && inside() && p.shut("}}}") }) ||
		p.try(func() bool { return p.open("{{", "{") && inside() && p.next("}") && p.shut("}}") }) ||
		p.try(func() bool {
			t.call = call{}
			return p.open("{{", "&") && p.skip() && p.name(&t.call) && p.shut("}}")
		})
}

// elseTag is {{else}} or {{^}}.
func (p *parser) elseTag() bool {
	return p.elseStart() && p.shut("}}")
}

// elseChain is {{else helper argument}}.
func (p *parser) elseChain(c *call) bool {
	return p.elseStart() && p.line(c) && p.shut("}}")
}

func (p *parser) elseStart() bool {
	return !p.ahead(p.escape) && p.lit("{{") && (p.next("~") || true) && (p.next("else") || p.next("^"))
}

func (p *parser) block(t *tag) bool {
	return p.nested(func() bool {
		if !p.open("{{", "#") || !p.line(&t.call) || !p.shut("}}") {
			return false
		}
		p.skip()
		t.inside = p.template()
		for {
			other := branch{call: &call{}}
			if !p.try(func() bool { return p.skip() && p.elseChain(other.call) }) {
				break
			}
			p.skip()
			other.inside = p.template()
			t.others = append(t.others, other)
		}
		if p.try(func() bool { return p.skip() && p.elseTag() }) {
			p.skip()
			t.others = append(t.others, branch{inside: p.template()})
		}
		return p.skip() && p.close(t, "{{", "}}", p.identifier)
	})
}

// close is the closing tag of a block. Its name may be missing here.
func (p *parser) close(t *tag, left, right string, name func() bool) bool {
	if !p.open(left, "/") {
		return false
	}
	p.skip()
	start := p.pos
	p.try(name)
	t.end = p.text[start:p.pos]
	return p.shut(right)
}

func (p *parser) rawBlock(t *tag) bool {
	if !p.lit("{{{{") {
		return false
	}
	p.next("~")
	if !p.line(&t.call) || !p.shut("}}}}") {
		return false
	}
	p.skip()
	for p.pos < len(p.text) && (p.escape() || !strings.HasPrefix(p.text[p.pos:], "{{{{") && p.plain()) {
		continue
	}
	return p.skip() && p.close(t, "{{{{", "}}}}", p.identifier)
}

// wrapping is a block of a decorator or a partial.
func (p *parser) wrapping(t *tag, sign string, line func(*call) bool, name func() bool) bool {
	return p.nested(func() bool {
		if !p.open("{{", "#") || !p.next(sign) || !line(&t.call) || !p.shut("}}") {
			return false
		}
		p.skip()
		t.inside = p.template()
		return p.skip() && p.close(t, "{{", "}}", name)
	})
}

// comment is {{!-- … --}}, or {{! … }}.
func (p *parser) comment() bool {
	return p.try(func() bool { return p.lit("{{!") && p.next("--") && p.until("--}}") }) ||
		p.try(func() bool { return p.lit("{{!") && p.until("}}") })
}
