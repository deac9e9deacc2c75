package theme

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// templates are the files of a theme that mdBook reads as templates, and the names
// that it gives them.
var templates = []struct{ file, name string }{
	{"index.hbs", "index"}, {"head.hbs", "head"}, {"header.hbs", "header"},
	{"redirect.hbs", "redirect"}, {"toc.js.hbs", "toc_js"}, {"toc.html.hbs", "toc_html"},
}

// helpers are those that mdBook's templates can call, with the least number of
// arguments that each takes: handlebars-rust's own, and three of mdBook.
var helpers = map[string]int{
	"if": 1, "unless": 1, "each": 1, "with": 1, "lookup": 2, "raw": 0, "log": 0, "len": 1, "not": 1,
	"eq": 2, "ne": 2, "gt": 2, "gte": 2, "lt": 2, "lte": 2, "and": 2, "or": 2,
	"toc": 0, "fa": 2, "resource": 1,
}

// formerHelpers had mdBook 0.4.
var formerHelpers = map[string]string{
	"previous":     "write {{#if previous}}, and previous.link for its link",
	"next":         "write {{#if next}}, and next.link for its link",
	"theme_option": "write the theme's name",
}

// Check finds the faults in the templates of a theme: its files, by their path below
// the theme's folder. Where a template isn't among them, mdBook has its own.
// redirects says that pages are made of redirect.hbs.
//
// An error means that mdBook doesn't start; a warning, that it fails if it gets there, such
// as to what is inside of a block. What isn't understood is taken for good: a template that
// mdBook takes has no errors.
func Check(files map[string][]byte, redirects bool) diagnostic.List {
	c := &checker{parsed: map[string]template{}, count: map[string]int{}, redirects: redirects}
	for _, t := range templates {
		content, ok := files[t.file]
		if !ok {
			continue
		}
		if !utf8.Valid(content) {
			c.faults = append(c.faults, diagnostic.Problem{File: t.file, Message: "is not UTF-8 text, which mdBook takes templates for only"})
			continue
		}
		c.read(t.file, t.name, string(content))
	}
	for _, t := range templates {
		if parsed, ok := c.parsed[t.name]; ok {
			c.file, c.name, c.text = t.file, t.name, string(files[t.file])
			c.template(parsed, c.isRendered(t.name, files))
		}
	}
	slices.SortStableFunc(c.faults, func(a, b diagnostic.Problem) int {
		return strings.Compare(a.File, b.File)
	})
	return c.faults
}

type checker struct {
	faults    diagnostic.List
	count     map[string]int // of faults, by file
	parsed    map[string]template
	redirects bool
	// inlines says that templates define partials of their own.
	inlines bool

	// The template that is looked at.
	file, name, text string
}

func (c *checker) read(file, name, text string) {
	parsed, fault, known := parse(text)
	c.file, c.text = file, text
	switch {
	case fault >= 0:
		c.fault(fault, true, "mdBook 0.5 can't read the template from here on: %s", c.near(fault))
	case known:
		c.parsed[name] = parsed
		walk(parsed, func(t tag) {
			c.inlines = c.inlines || (t.kind == decorator || t.kind == decorated) && t.call.name == "inline"
			c.checkEnd(t)
		})
	}
}

// near shows what is at an offset, or the tag that isn't closed at the end.
func (c *checker) near(offset int) string {
	rest, _, _ := strings.Cut(c.text[offset:], "\n")
	start := strings.LastIndex(c.text[:offset], "{{")
	switch {
	case strings.TrimSpace(c.text[offset:]) == "":
		return "a tag or a block isn't closed"
	case start < 0 || strings.Contains(c.text[start:offset], "}}"):
		return fmt.Sprintf("%.40q", rest)
	}
	end := min(len(c.text), offset+len(rest))
	return fmt.Sprintf("%.60q", c.text[start:end])
}

// maxFaults is how many faults of a template are reported: more help nobody.
const maxFaults = 20

func (c *checker) fault(offset int, certain bool, format string, args ...any) {
	if c.count[c.file]++; c.count[c.file] > maxFaults {
		return
	}
	severity := diagnostic.Warning
	if certain {
		severity = diagnostic.Error
	}
	c.faults = append(c.faults, diagnostic.Problem{Severity: severity, File: c.file, Line: 1 + strings.Count(c.text[:offset], "\n"),
		Message: fmt.Sprintf(format, args...)})
}

// walk visits the tags of a template, and those inside of them.
func walk(t template, visit func(tag)) {
	for _, tag := range t {
		visit(tag)
		walk(tag.inside, visit)
		for _, other := range tag.others {
			walk(other.inside, visit)
		}
	}
}

// checkEnd compares the closing tag of a block with the opening one.
func (c *checker) checkEnd(t tag) {
	var differs bool
	switch t.kind {
	case block, raw:
		differs = t.end != t.call.name
	case decorated:
		differs = t.end != "" && t.end != t.call.name
	case wrapped:
		differs = t.end != "" && t.call.computed == nil && t.end != t.call.name
	}
	if differs {
		c.fault(t.offset, true, "mdBook 0.5 can't read the template: the block %q that begins here is closed by {{/%.40s}}", t.call.name, t.end)
	}
}

// isRendered reports whether mdBook is certain to use a template that is the theme's
// own.
func (c *checker) isRendered(name string, files map[string][]byte) bool {
	switch name {
	case "redirect":
		return c.redirects
	case "head":
		return c.includes("index", name, files) || c.includes("toc_html", name, files)
	case "header":
		return c.includes("index", name, files)
	}
	return true
}

// includes reports whether a template includes a partial for certain, as mdBook's own
// do.
func (c *checker) includes(name, partialName string, files map[string][]byte) bool {
	i := slices.IndexFunc(templates, func(t struct{ file, name string }) bool { return t.name == name })
	if _, own := files[templates[i].file]; !own {
		return true
	}
	return slices.ContainsFunc(c.parsed[name], func(t tag) bool { return t.kind == partial && t.call.name == partialName })
}

// template looks at the tags of a template that is rendered for certain, or may be.
func (c *checker) template(t template, certain bool) {
	for _, tag := range t {
		if c.tag(tag, certain) {
			c.template(tag.inside, false)
			for _, other := range tag.others {
				if other.call == nil || c.call(*other.call, false, true) {
					c.template(other.inside, false)
				}
			}
		}
	}
}

// tag reports whether what is inside of it may be rendered.
func (c *checker) tag(t tag, certain bool) bool {
	switch t.kind {
	case value:
		return c.call(t.call, certain, len(t.call.args) > 0)
	case block, raw:
		return c.call(t.call, certain, true)
	case decorator, decorated:
		if t.call.name != "inline" {
			c.unknown(t.call.offset, certain, "has no decorator %.40s", t.call.name)
			return false
		}
		return c.arguments(t.call, certain)
	case partial:
		c.partial(t.call, certain)
	}
	return c.arguments(t.call, certain)
}

func (c *checker) unknown(offset int, certain bool, format string, args ...any) {
	then := "so it fails when it gets here"
	if certain {
		then = "so it doesn't start"
	}
	c.fault(offset, certain, "mdBook 0.5 %s, %s", fmt.Sprintf(format, args...), then)
}

// partial looks for a template that another includes.
func (c *checker) partial(p call, certain bool) {
	if p.computed != nil || c.inlines || strings.ContainsAny(p.name, `'@`) {
		return
	}
	known := slices.ContainsFunc(templates, func(t struct{ file, name string }) bool { return t.name == p.name })
	switch {
	case !known:
		c.unknown(p.offset, certain, "has no partial %.40s, which {{> }} includes (there are head and header, no files of the theme's own)", p.name)
	case p.name == c.name:
		c.unknown(p.offset, certain, "lets no template include itself, as %s does", c.name)
	}
}

// call looks at a helper, which has to be one unless what is called may be a value. It
// reports whether it is no fault.
func (c *checker) call(h call, certain, isHelper bool) bool {
	if h.computed != nil {
		return c.call(*h.computed, certain, true)
	}
	least, known := helpers[h.name]
	switch {
	case !known && !isHelper:
		return true
	case !known:
		hint := ""
		if advice := formerHelpers[h.name]; advice != "" {
			hint = " (mdBook 0.4 had it: " + advice + ")"
		}
		c.unknown(h.offset, certain, "has no helper %.40s%s", h.name, hint)
		return false
	case h.name == "resource" && c.name == "toc_js":
		c.unknown(h.offset, certain, "has no helper resource in this template")
		return false
	case h.name == "resource" && c.name == "redirect":
		c.unknown(h.offset, certain, "can't call the helper resource in this template: write the file's path")
		return false
	}
	values := slices.DeleteFunc(slices.Clone(h.args), func(a argument) bool { return a.key != "" })
	if len(values) < least {
		c.unknown(h.offset, certain, "wants %d or more arguments for the helper %s", least, h.name)
		return false
	}
	if h.name == "fa" {
		c.icon(h, values, certain)
	}
	return c.arguments(h, certain)
}

// arguments looks at the helpers that are called for arguments.
func (c *checker) arguments(h call, certain bool) bool {
	sound := true
	for _, a := range h.args {
		if a.call != nil {
			sound = c.call(*a.call, certain, true) && sound
		}
	}
	return sound
}

// icon looks for an icon that a template names.
func (c *checker) icon(h call, values []argument, certain bool) {
	style, isText := literalText(values[0])
	name, isName := literalText(values[1])
	if !isText || !isName {
		return
	}
	for _, prefix := range []string{"fa-", "fab-", "fas-"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			name = rest
			break
		}
	}
	if !icons()[style][name] {
		c.unknown(h.offset, certain, "has no icon %.40q of the style %.40q", name, style)
	}
}

// literalText returns a text without escapes.
func literalText(a argument) (string, bool) {
	quoted := a.literal && len(a.text) >= 2 && strings.ContainsAny(a.text[:1], `"'`) && !strings.Contains(a.text, `\`)
	if !quoted {
		return "", false
	}
	return a.text[1 : len(a.text)-1], true
}

// IsTemplate reports whether mdBook reads a file of a theme as a template, by its path
// below the theme's folder.
func IsTemplate(file string) bool {
	return path.Ext(file) == ".hbs" && slices.ContainsFunc(templates, func(t struct{ file, name string }) bool { return t.file == file })
}
