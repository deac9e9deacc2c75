// Package spelling tells how near a misspelt name is to another, for messages that ask
// whether that was meant. It imports nothing.
package spelling

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
