package generator

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
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
