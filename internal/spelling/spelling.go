// Package spelling says how far apart two words are, so that who mistyped one can be told which he perhaps meant.
//
// The list of features and the tools for files use it. It knows no words itself.
package spelling

// Distance is how many bytes have to be put in, taken out or changed to make b of a.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
