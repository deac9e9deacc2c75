package theme

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zoetrope/markdown-view/generator/spelling"
)

//go:embed icons.txt
var iconList string

// styles are those of the icons, with the prefix by which the icon of the repository
// gets it: "far-" isn't one that mdBook knows.
var styles = []struct{ name, prefix string }{
	{"brands", "fab-"}, {"solid", "fas-"}, {"regular", "fa-"},
}

// icons are the names of the icons by style.
var icons = sync.OnceValue(func() map[string]map[string]bool {
	byStyle, style := map[string]map[string]bool{}, ""
	for line := range strings.Lines(iconList) {
		line = strings.TrimSpace(line)
		switch name, isStyle := strings.CutSuffix(line, ":"); {
		case strings.HasPrefix(line, "#"):
		case isStyle:
			style = name
			byStyle[style] = map[string]bool{}
		default:
			for icon := range strings.FieldsSeq(line) {
				byStyle[style][icon] = true
			}
		}
	}
	return byStyle
})

// IconFault completes a sentence about an icon that output.html.git-repository-icon
// names and that mdBook 0.5.4 doesn't have, so that it fails; "" if it has it.
func IconFault(icon string) string {
	style := "regular"
	switch prefix, _, _ := strings.Cut(icon, "-"); prefix {
	case "fas":
		style = "solid"
	case "fab":
		style = "brands"
	}
	name := icon
	for _, prefix := range []string{"fa-", "fab-", "fas-"} {
		if rest, ok := strings.CutPrefix(icon, prefix); ok {
			name = rest
			break
		}
	}
	if icons()[style][name] {
		return ""
	}
	if rest, ok := strings.CutPrefix(icon, "far-"); ok && icons()["regular"][rest] {
		return fmt.Sprintf("an icon that mdBook 0.5 doesn't have, as it doesn't know the prefix far-: write fa-%s", rest)
	}
	advice := "write fab-github, or another of https://fontawesome.com/v6/search?m=free with fab- for brands, fas- for solid and fa- for regular ones"
	if closest := closestIcon(strings.TrimPrefix(name, "far-")); closest != "" {
		advice = "did you mean " + closest + "?"
	}
	return fmt.Sprintf("an icon that mdBook 0.5 doesn't have among the %s ones of Font Awesome: %s", style, advice)
}

// closestIcon finds the icon that was meant, "" if none is near: of the same name in
// another style, with the same words in another order, or with few other letters.
func closestIcon(name string) string {
	if len(name) > 60 {
		return ""
	}
	best, distance := "", 1+len(name)/4
	for _, style := range styles {
		for icon := range icons()[style.name] {
			d := spelling.Distance(name, icon)
			if sortedWords(icon) == sortedWords(name) {
				d = min(d, 1)
			}
			candidate := style.prefix + icon
			// Of several that are as near the first in order: a map has none.
			if d < distance || d == distance && best != "" && order(candidate) < order(best) {
				best, distance = candidate, d
			}
		}
	}
	return best
}

// order puts brands first, then solid and regular icons, each by name.
func order(icon string) string {
	i := slices.IndexFunc(styles, func(s struct{ name, prefix string }) bool { return strings.HasPrefix(icon, s.prefix) })
	return fmt.Sprint(i, icon)
}

func sortedWords(name string) string {
	words := strings.Split(name, "-")
	slices.Sort(words)
	return strings.Join(words, "-")
}
