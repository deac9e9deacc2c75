package function

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// scalars are what the two versions of YAML, and their readers, may take for
// different things.
var scalars = []string{
	"a", "''", `""`, "~", "null", "Null", "NULL", "nULL", "true", "True", "TRUE", "tRUE", "false", "yes", "Yes", "YES", "yEs", "y", "Y", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "OFF", "oFf",
	"'yes'", `"no"`, "!!str yes", "!!bool yes", "!!str 1", "!!int '1'", "!!float 1", "!!null ''",
	"0", "1", "-1", "+1", "010", "-010", "08", "0o10", "0O10", "0x10", "0X10", "0x1G", "0b11", "0b12", "1_000", "_1", "1_", "0x_1", "1,000", "1 000", "1e3", "1E3", "1e+3", "1e", "1.", ".5", "-.5", "1.5", "2.0", "1.0e3", "1_0.5",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "18446744073709551616", "100000000000000000000000",
	"12:30", "12:30:45", "190:20:30", "2020-01-01", "2020-01-01T00:00:00Z", "2020-1-1", "=", "<", "1m", "10m", "0.5.4", "v1", "1.2.3", "0x", "0b", "0o", "-", "--", "+", ".", "..", "1-", "e3", "Infinity", "nan", "NaN", "inf",
}

func TestScalarsAreWhatKubectlReads(t *testing.T) {
	var texts []string
	for _, scalar := range scalars {
		texts = append(texts, "a: "+scalar+"\n", scalar+": a\n")
	}
	for _, text := range texts {
		theirs, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			continue // the API server can't have it
		}
		node, err := kyaml.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var d decoder
		value := d.value(node.YNode(), "")
		if len(d.faults) > 0 {
			continue
		}
		ours, err := json.Marshal(value)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(string(theirs), string(ours)); diff != "" {
			t.Errorf("%q (-kubectl +function):\n%s", text, diff)
		}
	}
}
