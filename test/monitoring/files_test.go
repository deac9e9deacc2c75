package monitoring

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

const folder = "../../config/monitoring/"

// rule is one of a PrometheusRule.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func rules(t *testing.T) []rule {
	t.Helper()
	var object struct {
		Spec struct {
			Groups []struct{ Rules []rule }
		}
	}
	decode(t, "prometheusrule.yaml", func(content []byte) error { return yaml.Unmarshal(content, &object) })
	var list []rule
	for _, group := range object.Spec.Groups {
		list = append(list, group.Rules...)
	}
	if len(list) == 0 {
		t.Fatal("there are no rules")
	}
	return list
}

// panel is one of the dashboard's.
type panel struct {
	Title   string
	Targets []struct{ Expr, LegendFormat string }
}

// variable is one of the dashboard's.
type variable struct {
	Name, Type string
	Query      json.RawMessage // a text, or an object with one
}

func dashboard(t *testing.T) (panels []panel, variables []variable) {
	t.Helper()
	var object struct {
		Panels     []panel
		Templating struct{ List []variable }
	}
	decode(t, "dashboard.json", func(content []byte) error { return json.Unmarshal(content, &object) })
	if len(object.Panels) == 0 {
		t.Fatal("there are no panels")
	}
	return object.Panels, object.Templating.List
}

func decode(t *testing.T, file string, into func([]byte) error) {
	t.Helper()
	content, err := os.ReadFile(folder + file)
	if err == nil {
		err = into(content)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// expression parses what a panel or a rule asks for, with Grafana's variables
// replaced.
func expression(t *testing.T, text string) parser.Expr {
	t.Helper()
	text = strings.NewReplacer("$__rate_interval", "5m", "$namespace", ".*", "$job", ".*").Replace(text)
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return parsed
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
