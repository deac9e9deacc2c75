package theme

import "strings"

// named reads a name by a rule.
func (p *parser) named(c *call, rule func() bool) bool {
	start := p.pos
	if !p.try(rule) {
		return false
	}
	c.offset, c.name = start, p.text[start:p.pos]
	return true
}

// name is an expression in parentheses or a path.
func (p *parser) name(c *call) bool {
	computed := &call{}
	if start := p.pos; p.subexpression(computed) {
		c.offset, c.computed = start, computed
		return true
	}
	return p.named(c, p.reference)
}

// line is what a block, a decorator or an {{else}} calls.
func (p *parser) line(c *call) bool {
	*c = call{}
	return p.try(func() bool {
		if !p.skip() || !p.named(c, p.identifier) {
			return false
		}
		p.arguments(c)
		p.try(func() bool { return p.skip() && p.blockParameters() })
		return true
	})
}

// blockParameters is as |name| or as |name name|.
func (p *parser) blockParameters() bool {
	if !p.lit("as") || !p.next("|") || !p.skip() || !p.identifier() {
		return false
	}
	p.try(func() bool { return p.skip() && p.identifier() })
	return p.next("|")
}

// partialLine is what includes a partial.
func (p *parser) partialLine(c *call) bool {
	*c = call{}
	return p.try(func() bool {
		if !p.skip() || !p.named(c, p.partialIdentifier) && !p.name(c) {
			return false
		}
		p.arguments(c)
		return true
	})
}

func (p *parser) partialIdentifier() bool {
	return p.try(func() bool { return p.run(isPartialSymbol) }) || p.try(p.quotedPartial)
}

// quotedPartial is a name in single quotes.
func (p *parser) quotedPartial() bool {
	if !p.lit("'") {
		return false
	}
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] != '\'' {
		if !strings.HasPrefix(p.text[p.pos:], `\'`) {
			p.any()
			continue
		}
		p.pos += len(`\'`)
	}
	return p.pos > start && p.lit("'")
}

// arguments are key=value or values; it reports whether there is one.
func (p *parser) arguments(c *call) bool {
	for {
		var a argument
		if !p.try(func() bool { return p.skip() && (p.pair(&a) || p.argument(&a)) }) {
			return len(c.args) > 0 || p.miss()
		}
		c.args = append(c.args, a)
	}
}

func (p *parser) pair(a *argument) bool {
	return p.try(func() bool {
		start := p.pos
		if !p.identifier() {
			return false
		}
		key := p.text[start:p.pos]
		if !p.next("=") || !p.skip() || !p.argument(a) {
			return false
		}
		a.key = key
		return true
	})
}

// argument is a literal, a path or an expression in parentheses, but no keyword.
func (p *parser) argument(a *argument) bool {
	*a = argument{}
	keyword := func() bool {
		return (p.lit("as") || p.lit("else")) && p.skip() && !p.symbolAhead()
	}
	if p.ahead(keyword) {
		return p.miss()
	}
	p.skip()
	start := p.pos
	switch {
	case p.literal():
		a.literal = true
	case p.try(p.reference):
	default:
		a.call = &call{}
		return p.subexpression(a.call)
	}
	a.text = p.text[start:p.pos]
	return true
}

// subexpression is a helper with arguments, or a name, in parentheses.
func (p *parser) subexpression(c *call) bool {
	return p.nested(func() bool {
		*c = call{}
		if !p.lit("(") {
			return false
		}
		if !p.try(func() bool { return p.skip() && p.named(c, p.identifier) && p.arguments(c) }) {
			*c = call{}
			if !p.skip() || !p.named(c, p.reference) {
				return false
			}
		}
		return p.next(")")
	})
}

// reference is a path such as ../a.b or @root/a.
func (p *parser) reference() bool {
	separator := func() bool { return p.lit("/") || p.lit(".") }
	up := func() bool { return p.lit("..") && separator() }
	item := func() bool {
		return p.try(p.identifier) || p.try(func() bool { return p.lit("[") && p.until("]") })
	}
	_ = p.try(func() bool { return p.lit("this") && separator() }) || p.try(func() bool { return p.lit("./") })
	p.try(func() bool { return p.lit("@root") && separator() })
	p.try(func() bool { return p.lit("@") })
	for p.try(up) {
		continue
	}
	if !item() {
		return false
	}
	for p.try(func() bool { return separator() && item() }) {
		continue
	}
	return true
}

func (p *parser) literal() bool {
	return p.try(p.stringLiteral) || p.nested(p.arrayLiteral) || p.nested(p.objectLiteral) || p.try(p.numberLiteral) ||
		p.try(p.wordLiteral)
}

func (p *parser) stringLiteral() bool {
	quoted := func(quote string) bool {
		if !p.lit(quote) {
			return false
		}
		for p.try(func() bool { return p.stringCharacter(quote[0]) }) {
			continue
		}
		return p.lit(quote)
	}
	return p.try(func() bool { return quoted(`"`) }) || p.try(func() bool { return quoted("'") })
}

func (p *parser) stringCharacter(quote byte) bool {
	if p.pos == len(p.text) || p.text[p.pos] == quote {
		return false
	}
	if p.text[p.pos] != '\\' {
		return p.any()
	}
	rest := p.text[p.pos+1:]
	switch {
	case rest == "":
		return p.miss()
	case rest[0] == quote || strings.IndexByte(`\/bfnrt`, rest[0]) >= 0:
		p.pos += len(`\n`)
		return true
	case rest[0] == 'u' && len(rest) > 4 && strings.Trim(rest[1:5], "0123456789abcdefABCDEF") == "":
		p.pos += len(`\u0000`)
		return true
	}
	return p.miss()
}

// list is elements between brackets, with commas. The first may be missing.
func (p *parser) list(open, shut string, element func() bool) bool {
	spaced := func() bool { return p.skip() && element() }
	if !p.lit(open) {
		return false
	}
	p.try(spaced)
	for p.try(func() bool { return p.next(",") && spaced() }) {
		continue
	}
	return p.next(shut)
}

func (p *parser) arrayLiteral() bool { return p.list("[", "]", p.literal) }

func (p *parser) objectLiteral() bool {
	return p.list("{", "}", func() bool {
		return p.try(p.stringLiteral) && p.next(":") && p.skip() && p.literal()
	})
}

func (p *parser) numberLiteral() bool {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	p.try(func() bool { return p.lit("-") })
	if !p.run(digit) {
		return false
	}
	p.try(func() bool { return p.lit(".") })
	p.try(func() bool { return p.run(digit) })
	p.try(func() bool {
		if !p.lit("E") {
			return false
		}
		p.try(func() bool { return p.lit("-") })
		return p.run(digit)
	})
	return !p.symbolAhead()
}

func (p *parser) wordLiteral() bool {
	return p.try(func() bool { return p.lit("null") && !p.symbolAhead() }) ||
		p.try(func() bool { return (p.lit("true") || p.lit("false")) && !p.symbolAhead() })
}
