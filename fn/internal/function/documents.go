package function

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// document is one of a stream that isn't empty.
type document struct {
	// number counts all documents, empty ones too, from 1.
	number int
	node   *yaml.Node
}

// documents reads a stream to its end. kyaml's own reader reads one document of each
// part between marks, and ignores what follows.
func documents(text []byte) ([]document, error) {
	if err := checkEncoding(text); err != nil {
		return nil, err
	}
	parts, err := split(text)
	if err != nil {
		return nil, err
	}
	var found []document
	number := 0
	for _, part := range parts {
		nodes, err := part.read()
		if err != nil {
			return nil, err
		}
		if len(nodes) == 0 {
			number++
		}
		for _, node := range nodes {
			number++
			if isNull(node) {
				continue
			}
			if _, foreign := usesAliases(node); foreign {
				return nil, fmt.Errorf("document %d can't be read: a YAML alias names an anchor of another document: write the value out", number)
			}
			found = append(found, document{number, node})
		}
	}
	return found, nil
}

// part is the text between two marks.
type part struct {
	text []byte
	// line is that of the text's beginning, from 0.
	line int
}

// split cuts a stream where kubectl does: at lines that begin with "---", after
// which there may only be a comment.
func split(text []byte) ([]part, error) {
	var parts []part
	start, startLine, line := 0, 0, 0
	for at := 0; at < len(text); line++ {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if after, isMark := bytes.CutPrefix(text[at:end], []byte("---")); isMark {
			if after = bytes.TrimSpace(after); len(after) > 0 && after[0] != '#' {
				return nil, fmt.Errorf("line %d: %.20q follows \"---\": put it on the next line", line+1, after)
			}
			if at > 0 { // nothing comes before the first mark
				parts = append(parts, part{text[start:at], startLine})
			}
			start, startLine = end, line+1
		}
		at = end
	}
	return append(parts, part{text[start:], startLine}), nil
}

// read returns the documents of a part, which end by "..." or by line ends that only
// YAML knows. What begins as JSON does may be JSON values in a row, or a flow map.
func (p part) read() ([]*yaml.Node, error) {
	text := bytes.TrimPrefix(p.text, []byte("\ufeff"))
	var errJSON error
	if bytes.HasPrefix(bytes.TrimLeftFunc(text, unicode.IsSpace), []byte("{")) {
		var nodes []*yaml.Node
		if nodes, errJSON = jsonValues(text); errJSON == nil {
			return nodes, nil
		}
	}
	nodes, err := yamlDocuments(text)
	if err == nil {
		return nodes, nil
	}
	what := "is not YAML"
	if _, later := errors.AsType[*laterValueError](errJSON); later {
		what, err = "is neither JSON nor YAML", errJSON
	}
	return nil, fmt.Errorf("%s: %s", what, p.inFile(err.Error()))
}

var lineNumber = regexp.MustCompile(`\bline \d+`)

// inFile makes line numbers of a message those of the file. The YAML parser leaves
// out that of the first line.
func (p part) inFile(message string) string {
	if !lineNumber.MatchString(message) && !strings.HasPrefix(message, "unknown anchor") {
		message = "line 1: " + message
	}
	return lineNumber.ReplaceAllStringFunc(message, func(where string) string {
		n, _ := strconv.Atoi(strings.TrimPrefix(where, "line "))
		return fmt.Sprintf("line %d", p.line+n)
	})
}

// checkEncoding finds what editors and shells write in place of UTF-8.
func checkEncoding(text []byte) error {
	if len(text) > 1 && (text[0] == 0xff && text[1] == 0xfe || text[0] == 0xfe && text[1] == 0xff || (text[0] == 0) != (text[1] == 0)) {
		return errors.New("is UTF-16: save it as UTF-8")
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("is not YAML: line %d: invalid UTF-8: save it as UTF-8", lineAt(text, at))
		}
		at += size
	}
	return nil
}

func lineAt(text []byte, offset int) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }

// yamlDocuments returns the root of each document, which is null in an empty one.
func yamlDocuments(text []byte) ([]*yaml.Node, error) {
	if bytes.Contains(text, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var roots []*yaml.Node
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			return nil, explain(err, text)
		}
		roots = append(roots, node.Content...)
	}
}

var directive = regexp.MustCompile(`(?m)^%(YAML|TAG)\b`)

// tabIndent is a tab where a line is indented.
var tabIndent = regexp.MustCompile(`(?m)^ *\t`)

// explain adds to a message of the YAML parser what to do.
func explain(err error, text []byte) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	switch {
	case directive.Match(text):
		at := directive.FindIndex(text)
		message = fmt.Sprintf("line %d: a YAML directive can't be read: drop the line", lineAt(text, at[0]))
	case strings.HasSuffix(message, "did not find expected <document start>"):
		// The parser counts from 0 here.
		line := 0
		_, _ = fmt.Sscanf(message, "line %d", &line)
		message = fmt.Sprintf("line %d: ", line+1) + `something follows the end of a document: begin the next one with "---"`
	case strings.HasSuffix(message, "found character that cannot start any token") && tabIndent.Match(text):
		message += ": indent with spaces, not with tabs"
	case strings.Contains(message, "control characters are not allowed"):
		at := bytes.IndexFunc(text, func(r rune) bool {
			return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r) || r == '\ufffe' || r == '\uffff'
		})
		if at >= 0 {
			r, _ := utf8.DecodeRune(text[at:])
			message = fmt.Sprintf("line %d: control characters are not allowed: drop %U, or write it as an escape in double quotes", lineAt(text, at), r)
		}
	}
	return errors.New(message)
}

// laterValueError is about a JSON value after others, where no YAML document begins.
type laterValueError struct{ error }

// jsonValues returns JSON values that follow one another, as kubectl reads them.
func jsonValues(text []byte) ([]*yaml.Node, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var values []*yaml.Node
	for {
		start := decoder.InputOffset()
		var value json.RawMessage // Decode limits how deep it nests
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		var node *yaml.Node
		if err == nil {
			tokens := json.NewDecoder(bytes.NewReader(value))
			tokens.UseNumber()
			node, err = jsonNode(tokens)
		}
		if err != nil {
			if rest := bytes.TrimSpace(text[start:]); len(values) > 0 && bytes.HasPrefix(rest, []byte("{")) {
				line := lineAt(text, int(start))
				if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
					line = lineAt(text, min(int(syntax.Offset), len(text)))
				}
				return nil, &laterValueError{fmt.Errorf("line %d: %w", line, err)}
			}
			return nil, err
		}
		values = append(values, node)
	}
}

// jsonNode reads a value as YAML would if it could read all of JSON, such as
// characters that are escaped as two surrogates. Keys that are there twice stay.
func jsonNode(tokens *json.Decoder) (*yaml.Node, error) {
	token, err := tokens.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
		if token == '{' {
			node.Kind, node.Tag = yaml.MappingNode, yaml.NodeTagMap
		}
		for tokens.More() {
			// The tokens of a map are its keys and values in turn.
			child, err := jsonNode(tokens)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		_, err := tokens.Token()
		return node, err
	case string:
		return stringNode(token), nil
	case json.Number:
		tag := yaml.NodeTagInt
		if strings.ContainsAny(token.String(), ".eE") {
			tag = yaml.NodeTagFloat
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: token.String()}, nil
	case bool:
		return valueNode(token)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "null"}, nil
}
