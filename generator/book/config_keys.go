package book

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// keys are the keys of a table of book.toml: each a keys, for a table, or a kind.
// The key anyKey stands for every one that isn't named.
type keys map[string]any

const anyKey = "*"

// kind is a type of value: the phrase that names it, and whether a value has it.
type kind struct {
	name string
	has  func(value any) bool
}

var (
	text    = kind{"a string", func(v any) bool { _, ok := v.(string); return ok }}
	texts   = kind{"a list of strings", isTexts}
	flag    = kind{"true or false", func(v any) bool { _, ok := v.(bool); return ok }}
	number  = kind{"a whole number from 0 to 4294967295", isNumberUpTo(1<<32 - 1)}
	small   = kind{"a whole number from 0 to 255", isNumberUpTo(1<<8 - 1)}
	textMap = keys{anyKey: text}
	free    = kind{"anything", func(any) bool { return true }}
)

// choice is a string that mdBook knows some values of.
type choice []string

// configKeys are the keys that mdBook 0.5.4 knows (crates/mdbook-core/src/config.rs;
// for plugins the tables in crates/mdbook-driver/src/mdbook.rs). It is strict in
// [book], [build], [rust] and [output.html] only.
var configKeys = keys{
	"book": keys{
		"title": text, "authors": texts, "description": text, "src": text,
		"language": text, "text-direction": choice{"ltr", "rtl"},
	},
	"build": keys{
		"build-dir": text, "create-missing": flag,
		"use-default-preprocessors": flag, "extra-watch-dirs": texts,
	},
	"rust": keys{"edition": choice{"2015", "2018", "2021", "2024"}},
	"output": keys{
		"html":     htmlKeys,
		"markdown": keys{"command": text, anyKey: free},
		anyKey:     keys{"command": text, "optional": flag, anyKey: free},
	},
	"preprocessor": keys{
		"index": defaultPreprocessorKeys,
		"links": defaultPreprocessorKeys,
		anyKey: keys{
			"command": text, "optional": flag, "before": texts, "after": texts,
			"renderers": texts, anyKey: free,
		},
	},
}

// defaultPreprocessorKeys are those of a preprocessor that is part of mdBook: whatever
// its renderers are, it runs.
var defaultPreprocessorKeys = keys{"command": text, "optional": flag, "before": texts, "after": texts, anyKey: free}

var htmlKeys = keys{
	"theme": text, "default-theme": text, "preferred-dark-theme": text,
	"smart-punctuation": flag, "definition-lists": flag, "admonitions": flag,
	"mathjax-support": flag, "additional-css": texts, "additional-js": texts,
	"fold":             keys{"enable": flag, "level": small},
	"playground":       playgroundKeys,
	"playpen":          playgroundKeys,
	"code":             keys{"hidelines": textMap},
	"print":            keys{"enable": flag, "page-break": flag},
	"no-section-label": flag,
	"search": keys{
		"enable": flag, "limit-results": number, "teaser-word-count": number,
		"use-boolean-and": flag, "boost-title": small, "boost-hierarchy": small,
		"boost-paragraph": small, "expand": flag, "heading-split-level": small,
		"copy-js": flag, "chapter": keys{anyKey: keys{"enable": flag}},
	},
	"git-repository-url": text, "git-repository-icon": text, "input-404": text,
	"cname": text, "edit-url-template": text, "redirect": textMap, "hash-files": flag,
	"sidebar-header-nav": flag,
	// mdbook serve sets these itself, whatever they are: see checkBuild.
	"site-url": free, "live-reload-endpoint": free,
}

var playgroundKeys = keys{
	"editable": flag, "copyable": flag, "copy-js": flag, "line-numbers": flag, "runnable": flag,
}

// checker compares a document with the keys that mdBook knows.
type checker struct {
	positions map[string]position
	faults    []placed
	errs      []placed
	// htmlIgnored says that a fault has mdBook ignore [output.html].
	htmlIgnored bool
}

func (c *checker) table(prefix string, table map[string]any, known keys) {
	for _, name := range sortedKeys(table) {
		key, value := prefix+name, table[name]
		want, ok := known[name]
		if !ok {
			want = known[anyKey]
		}
		switch want := want.(type) {
		case keys:
			if inner, ok := value.(map[string]any); ok {
				c.table(key+".", inner, want)
			} else {
				c.wrongType(key, "a table")
			}
		case kind:
			if !want.has(value) {
				c.wrongType(key, want.name)
			}
		case choice:
			if s, ok := value.(string); !ok {
				c.wrongType(key, text.name)
			} else if !slices.Contains(want, s) {
				c.fault(key, fmt.Sprintf("%s is %.40q, mdBook 0.5 knows only %s", key, s, strings.Join(want, ", ")))
			}
		default:
			c.unknown(key, name, known)
		}
	}
}

// unknown notes a key of a table that isn't one of the known.
func (c *checker) unknown(key, name string, known keys) {
	message := fmt.Sprintf("mdBook 0.5 doesn't know the key %.120s", key)
	if hint := removedKeys[key]; hint != "" {
		c.fault(key, message+", which mdBook 0.4 had: "+hint)
		return
	}
	c.fault(key, message)
	c.faults[len(c.faults)-1].hint = func() string { return remedy(name, known) }
}

func (c *checker) fault(key, message string) {
	at, severity := c.position(key), diagnostic.Error
	if inHTML(key) {
		message += "; it ignores all of [output.html] then"
		severity, c.htmlIgnored = diagnostic.Warning, true
	} else {
		message += "; it doesn't start"
	}
	c.faults = append(c.faults, placed{at: at, problem: diagnostic.Problem{Severity: severity, File: ConfigPath, Line: at.line, Message: message}})
}

// wrongType notes a value of a wrong type. mdBook reads [output.html] by itself, and
// goes on without it.
func (c *checker) wrongType(key, want string) {
	message := fmt.Sprintf("%.120s must be %s", key, want)
	if inHTML(key) {
		c.fault(key, message+" for mdBook 0.5")
		return
	}
	c.errorf(key, "%s", message)
}

func inHTML(key string) bool { return strings.HasPrefix(key, "output.html.") }

// checkHTML finds what the types of the single keys of [output.html] don't show.
func (c *checker) checkHTML(doc map[string]any) {
	html := tableOf(tableOf(doc, "output"), "html")
	if command, ok := html["command"]; ok && !text.has(command) {
		// It is read with those of the other renderers.
		c.errorf("output.html.command", "output.html.command must be %s", text.name)
	}
	_, isOld := html["playpen"]
	if _, isNew := html["playground"]; isOld && isNew {
		c.fault("output.html.playpen", "output.html.playpen is the former name of output.html.playground, and mdBook 0.5 takes only one of them")
	}
}

// checkBuild returns the faults of keys that mdbook serve sets itself.
func (c *checker) checkBuild(doc map[string]any) diagnostic.List {
	html := tableOf(tableOf(doc, "output"), "html")
	build := checker{positions: c.positions}
	for _, name := range []string{"live-reload-endpoint", "site-url"} {
		if value, there := html[name]; there && !text.has(value) {
			build.wrongType("output.html."+name, text.name)
		}
	}
	return build.firstFaults()
}

func (c *checker) errorf(key, format string, args ...any) {
	at := c.position(key)
	c.errs = append(c.errs, placed{at: at, problem: at.problem(format, args...)})
}

// maxFaults is how many faults are reported: more help nobody.
const maxFaults = 20

func (c *checker) firstFaults() diagnostic.List {
	slices.SortStableFunc(c.faults, placed.compare)
	var first diagnostic.List
	for _, fault := range c.faults[:min(len(c.faults), maxFaults)] {
		if fault.hint != nil {
			fault.problem.Message += fault.hint()
		}
		first = append(first, fault.problem)
	}
	return first
}

// firstError returns the error that stands first in the file, or nil.
func (c *checker) firstError() error {
	if len(c.errs) == 0 {
		return nil
	}
	return diagnostic.List{slices.MinFunc(c.errs, placed.compare).problem}.Err()
}

// placed is a problem with its place, by which it is sorted.
type placed struct {
	at      position
	problem diagnostic.Problem
	// hint returns what the message ends with; nil if with nothing. It is asked only of the few
	// that are reported, because to find a name that is near takes a while.
	hint func() string
}

func (p placed) compare(other placed) int {
	return cmp.Or(cmp.Compare(p.at.line, other.at.line), cmp.Compare(p.at.column, other.at.column))
}

// position is a place in book.toml, from 1.
type position struct{ line, column int }

// problem is one of the text, in which the column counts bytes.
func (p position) problem(format string, args ...any) diagnostic.Problem {
	return diagnostic.Problem{File: ConfigPath, Line: p.line, Message: fmt.Sprintf("column %d: %s", p.column, fmt.Sprintf(format, args...))}
}

func (p position) errorf(format string, args ...any) error {
	return diagnostic.List{p.problem(format, args...)}.Err()
}

// position returns where a key is, or else the table that it is in.
func (c *checker) position(key string) position {
	for {
		if at, ok := c.positions[key]; ok {
			return at
		}
		dot := strings.LastIndexByte(key, '.')
		if dot < 0 {
			return position{1, 1}
		}
		key = key[:dot]
	}
}

// maxKeyParts is how deep positions are kept: book.toml has no known key that is
// deeper, and hostile text could have very deep ones.
const maxKeyParts = 5

// keyIndex knows where each key of a document first appears. go-toml's own strict
// mode isn't used for that: it takes minutes for a file of unknown keys, and folds
// upper and lower case, which mdBook doesn't.
type keyIndex struct {
	positions map[string]position
	count     int

	parser unstable.Parser
	offset int // of at
	at     position
}

// indexKeys reads a document up to its end, its first fault, or too many keys.
func indexKeys(doc []byte) *keyIndex {
	k := &keyIndex{positions: map[string]position{}, at: position{line: 1, column: 1}}
	k.parser.Reset(doc)
	var table []string
	for k.count <= MaxConfigKeys && k.parser.NextExpression() {
		expression := k.parser.Expression()
		switch expression.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = k.add(nil, expression.Key())
		case unstable.KeyValue:
			k.addValue(table, expression)
		}
	}
	return k
}

// addValue adds a key and, if its value is an inline table, the keys in it.
func (k *keyIndex) addValue(table []string, node *unstable.Node) {
	parts := k.add(table, node.Key())
	if node.Value().Kind != unstable.InlineTable {
		return
	}
	children := node.Value().Children()
	for k.count <= MaxConfigKeys && children.Next() {
		k.addValue(parts, children.Node())
	}
}

func (k *keyIndex) add(table []string, key unstable.Iterator) []string {
	k.count++
	parts := slices.Clone(table)
	for key.Next() && len(parts) < maxKeyParts {
		parts = append(parts, string(key.Node().Data))
		name := strings.Join(parts, ".")
		if _, ok := k.positions[name]; !ok {
			k.positions[name] = k.locate(int(key.Node().Raw.Offset))
		}
	}
	return parts
}

// locate turns an offset into a position. Keys come in the order of the file, so
// each byte is looked at once.
func (k *keyIndex) locate(offset int) position {
	between := k.parser.Data()[k.offset:offset]
	if lines := bytes.Count(between, []byte("\n")); lines > 0 {
		k.at.line += lines
		k.at.column = len(between) - bytes.LastIndexByte(between, '\n')
	} else {
		k.at.column += len(between)
	}
	k.offset = offset
	return k.at
}

func isTexts(value any) bool {
	list, ok := value.([]any)
	return ok && !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok })
}

func isNumberUpTo(limit int64) func(any) bool {
	return func(value any) bool {
		n, ok := value.(int64)
		return ok && n >= 0 && n <= limit
	}
}

func sortedKeys(table map[string]any) []string { return slices.Sorted(maps.Keys(table)) }

// tableOf returns the table of that name, empty when it is missing.
func tableOf(table map[string]any, name string) map[string]any {
	inner, _ := table[name].(map[string]any)
	return inner
}

func textOf(table map[string]any, name, fallback string) string {
	if s, ok := table[name].(string); ok {
		return s
	}
	return fallback
}

func flagOf(table map[string]any, name string, fallback bool) bool {
	if b, ok := table[name].(bool); ok {
		return b
	}
	return fallback
}

func textsOf(table map[string]any, name string) []string {
	list, _ := table[name].([]any)
	if !isTexts(list) {
		return nil
	}
	var texts []string
	for _, v := range list {
		texts = append(texts, v.(string))
	}
	return texts
}
