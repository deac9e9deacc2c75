package theme

import "testing"

func TestIconFault(t *testing.T) {
	const unknown = "an icon that mdBook 0.5 doesn't have among the "
	tests := map[string]string{
		"fab-github":        "",
		"fas-code-fork":     "",
		"fa-copy":           "",
		"copy":              "",
		"fa-github":         unknown + "regular ones of Font Awesome: did you mean fab-github?",
		"github":            unknown + "regular ones of Font Awesome: did you mean fab-github?",
		"fa-code-fork":      unknown + "regular ones of Font Awesome: did you mean fas-code-fork?",
		"far-copy":          "an icon that mdBook 0.5 doesn't have, as it doesn't know the prefix far-: write fa-copy",
		"fab-gitlabb":       unknown + "brands ones of Font Awesome: did you mean fab-gitlab?",
		"fas-github":        unknown + "solid ones of Font Awesome: did you mean fab-github?",
		"fab-github-square": unknown + "brands ones of Font Awesome: did you mean fab-square-github?",
		"fab-no-such-thing": unknown + "brands ones of Font Awesome: write fab-github, or another of https://fontawesome.com/v6/search?m=free with fab- for brands, fas- for solid and fa- for regular ones",
		"":                  unknown + "regular ones of Font Awesome: write fab-github, or another of https://fontawesome.com/v6/search?m=free with fab- for brands, fas- for solid and fa- for regular ones",
	}
	for icon, want := range tests {
		if got := IconFault(icon); got != want {
			t.Errorf("%q: got %q, want %q", icon, got, want)
		}
	}
}

func TestIconsAreAll(t *testing.T) {
	want := map[string]int{"brands": 465, "regular": 163, "solid": 1388}
	for style, n := range want {
		if got := len(icons()[style]); got != n {
			t.Errorf("%s: %d icons, want %d", style, got, n)
		}
	}
}
