// Package book says what a book is to mdBook: the pages of its source folder,
// the files beside it, and book.toml. It is pure: it reads bytes that it is
// given and touches neither file system nor network.
package book

// SummaryPath is the page that lists a book's chapters.
const SummaryPath = "SUMMARY.md"

// Limits of a book. What exceeds one is an error, never cut off.
const (
	// MaxFileBytes is the most that one page or file may hold, in bytes. A
	// ConfigMap holds 1 MiB; 4 KiB of it are left for keys and the revision key.
	MaxFileBytes = 1<<20 - 4<<10
	// MaxBookBytes is the most that all files of a book may hold together, in
	// bytes.
	MaxBookBytes = 32 << 20
	// MaxFiles is the most files of a book: each is one entry in the pod's
	// volume, and a Deployment has to fit into one etcd value.
	MaxFiles = 5000
)

// Book is what mdBook reads. The zero value is an empty book.
type Book struct {
	// Pages are the files of the source folder, images included: slash-separated
	// path below that folder → bytes.
	Pages map[string][]byte
	// Files are the files outside of the source folder, such as a theme:
	// slash-separated path below the book's root → bytes. book.toml isn't among
	// them.
	Files map[string][]byte
	// Toml is the text of book.toml; nil means that there is none and mdBook's
	// defaults hold.
	Toml []byte
}
