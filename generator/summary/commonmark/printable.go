package commonmark

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable writes control characters as Go does in quotes. A reference such as
// &#27; brings them into a link's destination, and so into messages about it.
func Printable(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
