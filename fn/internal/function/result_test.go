package function

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
)

func TestLinesHoldNothingThatATerminalActsOn(t *testing.T) {
	for name, test := range map[string]struct{ message, want string }{
		"escape sequences":       {"\x1b[31mred.md", `error: \x1b[31mred.md`},
		"the other direction":    {"gpj.\u202eexe", `error: gpj.\u202eexe`},
		"a carriage return":      {"a\rb", `error: a\rb`},
		"letters of all scripts": {"障害対応 👩‍🚒 é\nline two", "error: 障害対応 👩‍🚒 é\nline two"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Line(&framework.Result{Severity: framework.Error, Message: test.message}); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
