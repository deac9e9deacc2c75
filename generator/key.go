package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// rootKeyPrefix marks the keys of files that stand beside the source folder.
	rootKeyPrefix = "_root."
	// partKeyPrefix marks the keys of parts of a file that no ConfigMap can hold.
	partKeyPrefix = "_part."
	// hashKeyPrefix marks keys that are too long to spell out.
	hashKeyPrefix = "_hash."
)

// pageKey is the ConfigMap key of a page. A plain file name is its own key, as in
// the tutorial. In any other, "/" is written "__", and each further byte that a
// key can't hold "_x" and two hex digits.
//
// No two paths share a key: a name that holds "__" or "_x" itself, or that starts
// with "_" or ".", isn't plain, and its underscores and its first dot are written
// in hex. So no page can get a key that starts with ".", "_root.", "_part." or "_hash.".
func pageKey(path string) string {
	return fitKey(encodeKey(path), path)
}

// rootKey is the ConfigMap key of a file beside the source folder.
func rootKey(path string) string {
	// No path holds a NUL, so no page has the same hash.
	return fitKey(rootKeyPrefix+encodeKey(path), "\x00"+path)
}

// partKey is the ConfigMap key of a part of the file that would have the key of a
// whole one.
func partKey(key string, part int) string {
	name := fmt.Sprintf("%s%03d.%s", partKeyPrefix, part, key)
	return fitKey(name, "\x00"+name) // keys hold no NUL either
}

func encodeKey(path string) string {
	if isPlain(path) {
		return path
	}
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case c == '/':
			b.WriteString("__")
		case c == '.' && i == 0, c == '_', !isKeyByte(c):
			fmt.Fprintf(&b, "_x%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isPlain(path string) bool {
	if strings.HasPrefix(path, "_") || strings.HasPrefix(path, ".") || strings.Contains(path, "__") || strings.Contains(path, "_x") {
		return false
	}
	for i := range len(path) {
		if !isKeyByte(path[i]) {
			return false
		}
	}
	return true
}

// isKeyByte reports whether a ConfigMap key may hold c.
func isKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
}

// fitKey returns key, or the hash of name when that is too long.
func fitKey(key, name string) string {
	if len(key) <= validation.DNS1123SubdomainMaxLength {
		return key
	}
	sum := sha256.Sum256([]byte(name))
	return hashKeyPrefix + hex.EncodeToString(sum[:])
}

// revisionKey is the key that only this content of a ConfigMap carries. The pod's
// volume names it among its items, and the kubelet mounts all items or none: a
// pod can start with no other content than its template was made for.
func revisionKey(digest string) string {
	return revisionKeyPrefix + strings.TrimPrefix(digest, digestPrefix)[:12]
}

const revisionKeyPrefix = ".revision-"

// IsRevisionKey reports whether a ConfigMap's key is a revision key: no page has one.
func IsRevisionKey(key string) bool {
	return strings.HasPrefix(key, revisionKeyPrefix)
}
