package monitoring

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// added are the labels that Prometheus adds to what a PodMonitor has it scrape.
var added = []string{"job", "namespace", "pod", "container", "instance", "endpoint"}

// served maps a series' name to its labels. A test against a running controller
// keeps the file true.
func served(t *testing.T) map[string][]string {
	t.Helper()
	content, err := os.ReadFile("testdata/served.txt")
	if err != nil {
		t.Fatal(err)
	}
	series := map[string][]string{}
	for line := range strings.Lines(string(content)) {
		fields := append(strings.Fields(line), "")
		own := append(strings.Split(fields[2], ","), added...)
		series[fields[0]] = own
		if fields[1] == "histogram" {
			series[fields[0]+"_bucket"] = append(slices.Clone(own), "le")
			series[fields[0]+"_sum"], series[fields[0]+"_count"] = own, own
		}
	}
	return series
}

func TestTheAlertsAskForWhatIsServed(t *testing.T) {
	for _, r := range rules(t) {
		checkNames(t, "alert "+r.Alert, r.Expr)
	}
}

func TestTheDashboardAsksForWhatIsServed(t *testing.T) {
	panels, variables := dashboard(t)
	for _, p := range panels {
		for _, target := range p.Targets {
			checkNames(t, "panel "+p.Title, target.Expr)
		}
	}
	values := regexp.MustCompile(`label_values\((.*), (\w+)\)`)
	for _, v := range variables {
		if v.Type != "query" {
			continue
		}
		query := values.FindStringSubmatch(strings.ReplaceAll(string(v.Query), `\"`, `"`))
		if query == nil {
			t.Errorf("variable %s: not label_values: %s", v.Name, v.Query)
			continue
		}
		checkNames(t, "variable "+v.Name, "sum by ("+query[2]+") ("+query[1]+")")
	}
}

// checkNames looks up each metric that an expression selects, the labels that it
// selects by, and those that it groups the metric by.
func checkNames(t *testing.T, where, text string) {
	t.Helper()
	series, found := served(t), 0
	visit := func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		found++
		known, ok := series[selector.Name]
		if !ok {
			t.Errorf("%s: %s isn't served", where, selector.Name)
			return nil
		}
		for _, label := range used(selector, path) {
			if !slices.Contains(known, label) {
				t.Errorf("%s: %s has no label %s, only %s", where, selector.Name, label, known)
			}
		}
		return nil
	}
	parser.Inspect(expression(t, text), visit)
	if found == 0 {
		t.Errorf("%s selects nothing: %s", where, text)
	}
}

// used are the labels of a selector's matchers and of the aggregations around it.
func used(selector *parser.VectorSelector, path []parser.Node) []string {
	var list []string
	for _, matcher := range selector.LabelMatchers {
		if matcher.Name != "__name__" {
			list = append(list, matcher.Name)
		}
	}
	for _, node := range path {
		if aggregation, ok := node.(*parser.AggregateExpr); ok && !aggregation.Without {
			list = append(list, aggregation.Grouping...)
		}
	}
	return list
}
