package spelling

import "testing"

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
