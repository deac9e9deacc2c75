package generator

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"slices"
)

const digestPrefix = "sha256:"

// digest is the digest of entries that are sorted by key. Each key and each
// content is preceded by its length, so that no two lists of entries read the
// same.
func digest(entries []entry) string {
	hash := sha256.New()
	for _, e := range entries {
		var length [8]byte
		hash.Write(binary.BigEndian.AppendUint64(length[:0], uint64(len(e.key))))
		_, _ = io.WriteString(hash, e.key)
		hash.Write(binary.BigEndian.AppendUint64(length[:0], uint64(len(e.content))))
		hash.Write(e.content)
	}
	return digestPrefix + hex.EncodeToString(hash.Sum(nil))
}

// RevisionKeyOf is the revision key of a ConfigMap with these pages, whatever revision
// key it has.
func RevisionKeyOf(data map[string]string, binaryData map[string][]byte) string {
	entries := make([]entry, 0, len(data)+len(binaryData))
	for key, text := range data {
		if !IsRevisionKey(key) {
			entries = append(entries, entry{key: key, content: []byte(text)})
		}
	}
	for key, content := range binaryData {
		entries = append(entries, entry{key: key, content: content})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	return revisionKey(digest(entries))
}
