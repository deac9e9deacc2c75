package pages

import (
	"fmt"
	"testing"

	"github.com/zoetrope/markdown-view/generator/book"
)

func TestContentsAreBoundedByBytes(t *testing.T) {
	var contents contentCache
	version := func(i int) contentVersion { return contentVersion{resourceVersion: fmt.Sprint(i)} }
	if got := contents.bytesOf(version(0)); got != maxConfigMapBytes {
		t.Errorf("%d bytes are expected of what isn't known", got)
	}
	const large = 1 << 20
	page := make([]byte, large) // only counted
	for i := range maxContents + 10 {
		contents.add(version(i), book.Book{Pages: map[string][]byte{"a.md": page}})
	}
	kept := 0
	for i := range maxContents + 10 {
		if _, ok := contents.get(version(i)); ok {
			kept++
		}
	}
	if kept != maxContentBytes/large || contents.bytes != maxContentBytes {
		t.Errorf("%d are kept, of %d bytes", kept, contents.bytes)
	}
	if got := contents.bytesOf(version(maxContents / 2)); got != large {
		t.Errorf("%d bytes are expected of one that was read", got)
	}
	if len(contents.known) != maxContents {
		t.Errorf("%d are known", len(contents.known))
	}
}
