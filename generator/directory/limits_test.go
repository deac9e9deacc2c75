package directory

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadLimits(t *testing.T) {
	many := map[string]string{}
	for i := range 30 {
		many[fmt.Sprintf("d/%02d.md", i)] = "0123456789"
	}
	tests := map[string]errorTest{
		"a file that is too large, and where": {
			files: map[string]string{"d/a.md": "0123456789", "d/x/b.png": "01234567890", "d/x/c.png": strings.Repeat("x", 30)},
			dir:   "./d",
			opts:  Options{Limits: Limits{FileBytes: 10}},
			want: `./d/x/b.png: has 11 bytes, a file of a book may have at most 10: make it smaller, or ignore it
./d/x/c.png: has 30 bytes, a file of a book may have at most 10: make it smaller, or ignore it`,
		},
		"more errors than anyone reads": {
			files: many,
			dir:   "d",
			opts:  Options{Limits: Limits{FileBytes: 9}},
			want: func() string {
				var b strings.Builder
				for i := range 10 {
					fmt.Fprintf(&b, "d/%02d.md: has 10 bytes, a file of a book may have at most 9: make it smaller, or ignore it\n", i)
				}
				return b.String() + "20 more files or folders have faults"
			}(),
		},
		"too much together": {
			files: map[string]string{"d/a.md": "01", "d/b.md": "0123", "d/c.md": "012", "d/x/e.md": "0123", "d/f.md": "0"},
			dir:   "./d",
			opts:  Options{Limits: Limits{BookBytes: 13}},
			want:  "./d: its files have 14 bytes together, a book may have at most 13: ignore some, or make several books of it; the largest are b.md (4 bytes), x/e.md (4 bytes), c.md (3 bytes)",
		},
		"too many files": {
			files: many,
			dir:   "./d",
			opts:  Options{Limits: Limits{Files: 29}},
			want:  "./d: holds more than 29 files, the most that a book may have: ignore some, or make several books of it",
		},
		"too many to look at, though most are ignored": {
			files: many,
			dir:   "./d",
			opts:  Options{Ignore: "*\n!01.md", Limits: Limits{Entries: 29}},
			want:  "./d: holds more than 29 files and folders, ignored ones included: name a folder with less in it",
		},
		"folders that are too deep": {
			files: map[string]string{"d/1/2/3/a.md": "", "d/1/2/a.md": "", "d/x/2/3/4/a.md": ""},
			dir:   "./d",
			opts:  Options{Limits: Limits{Depth: 2}},
			want: `./d/1/2/3: is more than 2 folders deep: move it up, or ignore it
./d/x/2/3: is more than 2 folders deep: move it up, or ignore it`,
		},
		"links that multiply": {
			files: multiplying(16),
			dir:   "0",
			opts:  Options{Ignore: "x.md", Limits: Limits{Files: 100}},
			want:  "0: holds more than 2000 files and folders, ignored ones included: name a folder with less in it",
		},
	}
	for name, test := range tests {
		t.Run(name, test.run)
	}

	t.Run("what just fits", readTest{
		files: map[string]string{"d/1/a.md": "0123", "d/b.md": "012"},
		dir:   "d",
		opts:  Options{Limits: Limits{Files: 2, FileBytes: 4, BookBytes: 7, Depth: 1, Entries: 3}},
		pages: map[string]string{"1/a.md": "0123", "b.md": "012"},
	}.run)
}

// multiplying makes folders that each hold the next one twice.
func multiplying(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("%d/a", i)] = fmt.Sprintf("-> ../%d", i+1)
		files[fmt.Sprintf("%d/b", i)] = fmt.Sprintf("-> ../%d", i+1)
	}
	files[fmt.Sprintf("%d/x.md", n)] = ""
	return files
}
