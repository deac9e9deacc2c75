package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// maxDepth is the most maps and lists in each other.
const maxDepth = 64

// Budget is what the patches of a view may take together: kyaml's time grows with the
// square of what is in a list. It is far above what patches for people to read take.
type Budget struct {
	// values is how many values they may hold, those that aliases stand for included.
	values int
	// copies is how many operations may copy, and copied how many bytes that may add.
	copies, copied int
}

// NewBudget returns the budget of a view.
func NewBudget() *Budget {
	return &Budget{values: maxValues, copies: maxCopies, copied: maxCopied}
}

const (
	maxValues = 2000
	maxCopies = 32
	maxCopied = 64 << 10
)

var (
	errDepth       = fmt.Errorf("has more than %d maps and lists in each other: nest less", maxDepth)
	errValues      = fmt.Errorf("holds too much: the patches of a view may hold %d values together, with what aliases stand for: patch less, or with fewer aliases", maxValues)
	errCopies      = fmt.Errorf("copies too much: the patches of a view may copy %d times, and %d bytes: write the values out with add", maxCopies, maxCopied)
	errKey         = errors.New("has a key that isn't a string: put it in quotes")
	errLoop        = errors.New("has an anchor that holds an alias of itself: write the value out")
	errNullElement = errors.New("puts null into a list: write what is meant, or drop the element")
)

// parseYAML reads the documents of a patch that aren't empty, at least one, and checks
// that they are within bounds before anything expands their aliases.
func (b *Budget) parseYAML(text string) ([]*yaml.Node, error) {
	var documents []*yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("can't be read: %s", plain(err))
		}
		if len(document.Content) == 0 || document.Content[0].ShortTag() == yaml.NodeTagNull {
			continue
		}
		m := measuring{sizes: map[*yaml.Node]size{}}
		measured, err := m.measure(document.Content[0])
		if err != nil {
			return nil, err
		}
		if b.values -= measured.nodes; b.values < 0 {
			return nil, errValues
		}
		documents = append(documents, document.Content[0])
	}
	if len(documents) == 0 {
		return nil, errors.New("is empty: write a strategic merge patch or a JSON patch, or drop the entry")
	}
	return documents, nil
}

// size is that of a value once its aliases are expanded.
type size struct{ nodes, depth int }

// measuring finds sizes without expanding anything.
type measuring struct {
	// sizes has those of nodes with an anchor; 0 means that the node is being measured.
	sizes map[*yaml.Node]size
	depth int
}

func (m *measuring) measure(node *yaml.Node) (size, error) {
	if known, ok := m.sizes[node]; ok {
		if known.nodes == 0 {
			return size{}, errLoop
		}
		if m.depth+known.depth > maxDepth {
			return size{}, errDepth
		}
		return known, nil
	}
	if node.Kind == yaml.AliasNode {
		return m.measure(node.Alias)
	}
	if m.depth++; m.depth > maxDepth {
		return size{}, errDepth
	}
	defer func() { m.depth-- }()
	if node.Anchor != "" {
		m.sizes[node] = size{}
	}
	if node.Kind == yaml.MappingNode {
		if err := checkKeys(node); err != nil {
			return size{}, err
		}
	}
	total := size{nodes: 1}
	for _, child := range node.Content {
		of, err := m.measure(child)
		if err != nil {
			return size{}, err
		}
		total.nodes += of.nodes
		total.depth = max(total.depth, of.depth)
		if total.nodes > maxValues {
			return size{}, errValues
		}
	}
	if total.depth++; total.depth > maxDepth {
		return size{}, errDepth
	}
	if node.Anchor != "" {
		m.sizes[node] = total
	}
	return total, nil
}

// checkKeys returns an error unless the keys of a map are strings, and each of them is there
// once: kustomize takes the first of two, or the last, without a word.
func checkKeys(node *yaml.Node) error {
	keys := make(map[string]bool, len(node.Content)/2)
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			return errKey
		case keys[key.Value]:
			return errTwice(key.Value)
		}
		keys[key.Value] = true
	}
	return nil
}

func errTwice(key string) error {
	return fmt.Errorf("has the key %.60q twice in one map: drop one of them", key)
}

// checkJSONKeys is the same for JSON that was read, and isn't deep.
func checkJSONKeys(decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	opening, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	keys := map[string]bool{}
	for decoder.More() {
		if opening == '{' {
			token, err := decoder.Token()
			if err != nil {
				return err
			}
			key, _ := token.(string)
			if keys[key] {
				return errTwice(key)
			}
			keys[key] = true
		}
		if err := checkJSONKeys(decoder); err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

// spend is the same for a value without aliases.
func (b *Budget) spend(value any, depth int) error {
	if depth == 0 {
		return errDepth
	}
	if b.values--; b.values < 0 {
		return errValues
	}
	switch value := value.(type) {
	case map[string]any:
		b.values -= len(value) // the keys
		for _, field := range value {
			if err := b.spend(field, depth-1); err != nil {
				return err
			}
		}
	case []any:
		for _, element := range value {
			if err := b.spend(element, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// plain is what an error of a library says, on one line that a hostile patch can't make
// long.
func plain(err error) string {
	const most = 300
	// fmt survives errors that can't say what they are.
	text, _, _ := strings.Cut(fmt.Sprintf("%v", err), "\n")
	if strings.Contains(text, "PANIC=") {
		return "it can't be merged"
	}
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.TrimRight(strings.ToValidUTF8(text, "\ufffd"), ": ")
}

// recovered makes an error of a library's panic: the libraries are for what their users
// write themselves.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("can't be applied: %s", plain(fmt.Errorf("%v", r)))
	}
}
