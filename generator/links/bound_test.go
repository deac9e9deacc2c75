package links

import (
	"fmt"
	"strings"
	"testing"
)

func TestWarningsAreBounded(t *testing.T) {
	files := map[string]string{"src/last.md": "[x](gone.md)"}
	for page := range 4 {
		var text strings.Builder
		for i := range maxWarnings / 2 {
			fmt.Fprintf(&text, "[](x%d.md)\n\n", i)
		}
		files[fmt.Sprintf("src/%d.md", page)] = text.String()
	}
	got := check(t, files, "src", "0.md", "1.md", "2.md", "3.md", "last.md")
	if len(got) != maxWarnings+1 {
		t.Errorf("%d warnings, not %d and one that says so", len(got), maxWarnings)
	}
	if want := "src/1.md: there are more than 10000 warnings: what comes after isn't checked"; got[len(got)-1] != want {
		t.Errorf("the last is %q, not %q", got[len(got)-1], want)
	}
}
