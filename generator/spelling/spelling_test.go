package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"additional-css", "additional-js", "theme", "book"}
	tests := map[string]struct{ name, want string }{
		"another separator":     {"additional_css", "additional-css"},
		"another case":          {"Book", "book"},
		"a letter less":         {"them", "theme"},
		"the first of as near":  {"additional-jss", "additional-css"},
		"none that is near":     {"favicon", ""},
		"nothing at all":        {"", ""},
		"one letter":            {"x", ""},
		"longer than a name is": {strings.Repeat("theme", 13), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Nearest(test.name, known); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if long := strings.Repeat("a", maxName+1); Nearest(long, []string{long}) != "" {
		t.Error("a name that is too long was compared")
	}
}

func TestDistance(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want int
	}{
		"the same":              {"github", "github", 0},
		"nothing at all":        {"", "", 0},
		"one that is empty":     {"", "abc", 3},
		"a letter added":        {"githb", "github", 1},
		"a letter changed":      {"gitlub", "github", 1},
		"two that are swapped":  {"gihtub", "github", 2},
		"nothing in common":     {"abc", "xyz", 3},
		"several in one":        {"kitten", "sitting", 3},
		"bytes, not characters": {"é", "e", 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Distance(test.a, test.b); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
			if got := Distance(test.b, test.a); got != test.want {
				t.Errorf("the other way round: got %d, want %d", got, test.want)
			}
		})
	}
}
