package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func (b *Budget) parseOperations(text []byte) (*Patch, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("can't be read: what begins with [ has to be JSON: %s", plain(err))
	}
	if err := b.spend(value, maxDepth); err != nil {
		return nil, err
	}
	if err := checkJSONKeys(json.NewDecoder(bytes.NewReader(text))); err != nil {
		return nil, err
	}
	operations, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, fmt.Errorf("can't be read: a JSON patch is a list of operations: %s", plain(err))
	}
	if len(operations) == 0 {
		return nil, errors.New("is empty: write a strategic merge patch or a JSON patch, or drop the entry")
	}
	for i, operation := range operations {
		if err := checkOperation(operation); err != nil {
			return nil, fmt.Errorf("has a bad operation, the one at index %d: %w", i, err)
		}
	}
	return &Patch{operations: operations}, nil
}

// members are what an operation has to have beside op and path, as RFC 6902 says: the
// library panics without some of them.
var members = map[string]string{"add": "value", "replace": "value", "test": "value", "remove": "", "move": "from", "copy": "from"}

func checkOperation(operation jsonpatch.Operation) error {
	member, known := members[operation.Kind()]
	if !known {
		return errors.New("op has to be add, remove, replace, move, copy or test")
	}
	if _, err := operation.Path(); err != nil {
		return errors.New("path has to be a JSON pointer, such as /spec/replicas")
	}
	switch _, there := operation[member]; {
	case member == "":
		return nil
	case !there:
		return fmt.Errorf("%s needs %s", operation.Kind(), member)
	case member == "from":
		if _, err := operation.From(); err != nil {
			return errors.New("from has to be a JSON pointer, such as /spec/replicas")
		}
	}
	return nil
}

// ApplyJSON returns what a JSON patch makes of an object, which isn't changed.
func (p *Patch) ApplyJSON(object map[string]any, budget *Budget) (patched map[string]any, err error) {
	defer recovered(&err)
	document, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	for rest := p.operations; len(rest) > 0; {
		// Each copy may double the object: look at it after each.
		upTo, copies, before := len(rest), false, len(document)
		if first := slices.IndexFunc(rest, isCopy); first == 0 {
			upTo, copies = 1, true
		} else if first > 0 {
			upTo = first
		}
		if document, err = rest[:upTo].Apply(document); err != nil {
			return nil, fmt.Errorf("doesn't apply: %s", plain(err))
		}
		if copies {
			budget.copies--
			budget.copied -= len(document) - before
			if budget.copies < 0 || budget.copied < 0 {
				return nil, errCopies
			}
		}
		rest = rest[upTo:]
	}
	var value any
	if err := utiljson.Unmarshal(document, &value); err != nil {
		return nil, err
	}
	patched, ok := value.(map[string]any)
	if !ok || len(patched) == 0 {
		return nil, errDeleted
	}
	if err := dropNulls(patched); err != nil {
		return nil, err
	}
	return patched, nil
}

func isCopy(operation jsonpatch.Operation) bool {
	return operation.Kind() == "copy"
}

// dropNulls removes fields that are null: for Kubernetes they aren't there.
func dropNulls(value any) error {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			if field == nil {
				delete(value, key)
				continue
			}
			if err := dropNulls(field); err != nil {
				return err
			}
		}
	case []any:
		for _, element := range value {
			if element == nil {
				return errNullElement
			}
			if err := dropNulls(element); err != nil {
				return err
			}
		}
	}
	return nil
}
