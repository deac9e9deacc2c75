package commonmark

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/util"
)

func TestUnescape(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"plain text", "a.md", "a.md"},
		{"escaped punctuation", `\*\\\<\é\a\`, `*\<\é\a\`},
		{"an escaped reference", `\&amp;`, "&amp;"},
		{"named references", "&amp;&ouml;&NotEqualTilde;&amp &nosuch;&;", "&ö≂̸&amp &nosuch;&;"},
		{"decimal references", "&#35;&#0;&#1234567;&#99999999;&#;", "#\ufffd\ufffd&#99999999;&#;"},
		{"hexadecimal references", "&#x22;&#XD06;&#xd800;&#x1234567;&#x;&#xg;", "\"ആ\ufffd&#x1234567;&#x;&#xg;"},
		{"a reference without an end", "&" + strings.Repeat("a", 100) + ";&", "&" + strings.Repeat("a", 100) + ";&"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Unescape([]byte(tt.source))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNoEntityIsLongerThanLongestName(t *testing.T) {
	const longest = "CounterClockwiseContourIntegral"
	if _, ok := util.LookUpHTML5EntityByName(longest); !ok || len("&"+longest+";") > longestName {
		t.Errorf("%s has %d bytes, of which %d are looked at", longest, len("&"+longest+";"), longestName)
	}
}

func TestPrintable(t *testing.T) {
	if got, want := Printable("日本\n\x1b[1m\u0085\"é"), `日本\n\x1b[1m\u0085"é`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLines(t *testing.T) {
	lines := NewLines([]byte("a\n\nbc\n"))
	var got []int
	for offset := range 7 {
		got = append(got, lines.Number(offset))
	}
	if diff := cmp.Diff([]int{1, 1, 2, 3, 3, 3, 4}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCost(t *testing.T) {
	tests := []struct {
		name, text string
		tooMuch    bool
	}{
		{"nothing", "", false},
		{"ten thousand chapters", strings.Repeat("- [A *chapter*](a.md)\n  - [Another](b.md)\n", 5000), false},
		{"a long page of prose with links", strings.Repeat("Some *words* and [a link](a.md), and `code`.\n"+strings.Repeat("Prose. ", 50)+"\n\n", 2000), false},
		{"a table of a thousand rows", strings.Repeat("| [a](b) | `c` | *d* |\n", 1000), false},
		{"a megabyte of code", strings.Repeat("\tif a[i] < b[j] {\n\t\treturn\n\t}\n\n", 30_000), false},
		{"a megabyte of dashes", strings.Repeat(strings.Repeat("-", 79)+"\n", 12_000), false},
		{"brackets left open", strings.Repeat("[a](", 10_000), true},
		{"stars over many lines", strings.Repeat("*a_\n", 10_000), true},
		{"deep quotes", strings.Repeat("> ", 2000), true},
		{"quotes that are less deep, but many", strings.Repeat(strings.Repeat("> ", 500)+"\n", 500), true},
		{"deep lists", func() string {
			var b strings.Builder
			for depth := range 1000 {
				b.WriteString(strings.Repeat("  ", depth) + "- a\n")
			}
			return b.String()
		}(), true},
		{"many lists in many lines", strings.Repeat(strings.Repeat("- ", 500)+"\n", 2500), true},
		{"a list of six levels, and many empty lines", strings.Repeat("- a\n  - b\n    - c\n      - d\n        - e\n          - f\n\n\n", 10_000), false},
		{"many empty lines", "- a\n" + strings.Repeat("\n", 500_000), false},
		{"paragraphs in lists", strings.Repeat("1. a\n\n   b\n\n   - c\n\n     d\n\ne\n\n", 20_000), false},
		{"rules", strings.Repeat("a\n\n- - - - - - - - - - - - - - -\n\n", 20_000), false},
		{"lists that empty lines keep open", strings.Repeat("+ ", 500) + "[a](a.md)\n" + strings.Repeat("\n", 20_000), true},
		{"lists that empty lines in a quote keep open", "> " + strings.Repeat("+ ", 500) + "[a](a.md)\n" + strings.Repeat(">\n", 20_000), true},
		{"indented lists that empty lines keep open", func() string {
			var b strings.Builder
			for depth := range 20 {
				b.WriteString(strings.Repeat("  ", depth) + "- a\n")
			}
			return b.String() + strings.Repeat("\n", 1_000_000)
		}(), true},
		{"lists that empty lines in a footnote keep open", "[^1]: " + strings.Repeat("+ ", 1000) + "[x](nowhere.md)\n" + strings.Repeat("\n", 200_000), true},
		{"indented lists in a quote that empty lines keep open", func() string {
			var b strings.Builder
			for depth := range 250 {
				b.WriteString("> " + strings.Repeat("  ", depth) + "+ a\n")
			}
			return b.String() + strings.Repeat(">\n", 100_000)
		}(), true},
		{"a quote of many lines", strings.Repeat("> Some *words* and [a link](a.md), and `code`.\n>\n> - a\n>   - b\n", 10_000), false},
		{"lists that a paragraph keeps open", strings.Repeat("+ ", 500) + "a\n" + strings.Repeat("a\n\n"+strings.Repeat("  ", 500)+"b\n", 300), true},
		{"many lists in one line", strings.Repeat("+ ", 100_000) + "x\n", true},
		{"text that only looks like items", "a\n" + strings.Repeat("     - [*_\n", 10_000), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if cost := Cost([]byte(tt.text)); (cost > MaxCost) != tt.tooMuch {
				t.Errorf("cost is %d of at most %d", cost, MaxCost)
			}
		})
	}
}
