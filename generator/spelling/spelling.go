// Package spelling tells how near a misspelt name is to another, for messages that ask
// whether that was meant. It imports nothing but the standard library.
package spelling

import "strings"

// maxName is how long a name may be for Nearest, in bytes: hostile text has longer ones.
const maxName = 64

// Nearest returns the one of known that is nearest to a name, letter case aside: the first of
// several. It is empty if none is near, or the name is longer than 64 bytes.
func Nearest(name string, known []string) string {
	if len(name) > maxName {
		return ""
	}
	best, distance := "", len(name)/2+1
	for _, candidate := range known {
		if d := Distance(strings.ToLower(name), strings.ToLower(candidate)); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// Distance is Levenshtein's: how many bytes have to be added, dropped or changed to make
// one text the other. Its time grows with the product of the lengths.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
