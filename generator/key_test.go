package generator

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func TestKeys(t *testing.T) {
	tests := map[string]struct {
		path string
		want string
	}{
		"a plain name is its own key":          {"page1.md", "page1.md"},
		"with every byte that a key can hold":  {"aZ09-_.md", "aZ09-_.md"},
		"a folder":                             {"guide/intro.md", "guide__intro.md"},
		"an underscore beside a folder":        {"a_b/c.md", "a_x5Fb__c.md"},
		"two underscores, which mean a folder": {"a__b.md", "a_x5F_x5Fb.md"},
		"what looks like an encoded byte":      {"a_x41.md", "a_x5Fx41.md"},
		"an underscore at the start":           {"_a.md", "_x5Fa.md"},
		"a dot at the start":                   {".a.md", "_x2Ea.md"},
		"what looks like a revision key":       {".revision-0123456789ab", "_x2Erevision-0123456789ab"},
		"what looks like a file in the root":   {"_root.book.toml", "_x5Froot.book.toml"},
		"what looks like a hash":               {"_hash.00", "_x5Fhash.00"},
		"a space":                              {"a b.md", "a_x20b.md"},
		"another script":                       {"é.md", "_xC3_xA9.md"},
		"too long to be spelt out":             {strings.Repeat("é", 100), "_hash.f42ec48e1e4b487e590e0b3d4e58437c8327efa855d769709f4942a4f73a7eb6"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, pageKey(test.path)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// decodeKey is what pageKey undoes, as its comment describes it.
func decodeKey(key string) (string, error) {
	if !strings.HasPrefix(key, "_") && !strings.Contains(key, "__") && !strings.Contains(key, "_x") {
		return key, nil
	}
	var b strings.Builder
	for i := 0; i < len(key); {
		switch {
		case key[i] != '_':
			b.WriteByte(key[i])
			i++
		case strings.HasPrefix(key[i:], "__"):
			b.WriteByte('/')
			i += 2
		case strings.HasPrefix(key[i:], "_x") && len(key) >= i+4:
			c, err := strconv.ParseUint(key[i+2:i+4], 16, 8)
			if err != nil {
				return "", err
			}
			b.WriteByte(byte(c))
			i += 4
		default:
			return "", fmt.Errorf("%q means nothing", key[i:])
		}
	}
	return b.String(), nil
}

// checkKey holds a good path's keys against every rule that they have to keep.
func checkKey(t *testing.T, p string) {
	t.Helper()
	page, root := pageKey(p), rootKey(p)
	for _, key := range []string{page, root} {
		if problems := validation.IsConfigMapKey(key); len(problems) > 0 {
			t.Errorf("path %q has the key %q: %v", p, key, problems)
		}
		if strings.HasPrefix(key, ".") {
			t.Errorf("path %q has the key %q, which may be a revision key", p, key)
		}
	}
	if page == root {
		t.Errorf("a page and a file in the root at %q share the key %q", p, page)
	}
	if strings.HasPrefix(page, rootKeyPrefix) {
		t.Errorf("path %q has the key %q of a file in the root", p, page)
	}
	if strings.HasPrefix(page, hashKeyPrefix) {
		if encoded := encodeKey(p); len(encoded) <= 253 {
			t.Errorf("path %q is hashed, but fits as %q", p, encoded)
		}
		return
	}
	got, err := decodeKey(page)
	if err != nil || got != p {
		t.Errorf("path %q has the key %q, which reads as %q, %v", p, page, got, err)
	}
}

func TestNoTwoPathsShareAKey(t *testing.T) {
	letters := []string{"_", "__", "_x", "x", "5F", "2E", ".", "/", "a", "-", "é", " ", "_root.", "_hash.", "_part.", "000.", ".revision-"}
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]string{}
	for range 20000 {
		var b strings.Builder
		for range 1 + random.IntN(6) {
			b.WriteString(letters[random.IntN(len(letters))])
		}
		p := b.String()
		if v1.ValidatePagePath(p) != nil {
			continue
		}
		checkKey(t, p)
		for key, path := range map[string]string{
			pageKey(p): "page " + p, rootKey(p): "file " + p,
			partKey(pageKey(p), 0): "first part of page " + p, partKey(pageKey(p), 1): "second part of page " + p, partKey(rootKey(p), 0): "part of file " + p,
		} {
			if other, taken := seen[key]; taken && other != path {
				t.Fatalf("%s and %s share the key %s", other, path, key)
			}
			seen[key] = path
		}
	}
}

func TestLongNamesShareNoKey(t *testing.T) {
	long := strings.Repeat("a/", 130) + "b"
	keys := map[string]string{}
	for name, key := range map[string]string{
		"a page":                               pageKey(long),
		"a file in the root":                   rootKey(long),
		"a page in a folder called _root.":     pageKey("_root./" + long),
		"a page whose name starts with _root.": pageKey("_root." + long),
		"a file whose name starts with _root.": rootKey("_root." + long),
		"another page":                         pageKey(long + "c"),
	} {
		if !strings.HasPrefix(key, hashKeyPrefix) {
			t.Errorf("%s isn't hashed: %s", name, key)
		}
		if other, taken := keys[key]; taken {
			t.Errorf("%s and %s share a key", name, other)
		}
		keys[key] = name
	}
}

// acceptedItemPath is Kubernetes' rule for the path of a volume's item
// (validateLocalNonReservedPath).
func acceptedItemPath(p string) bool {
	if p == "" || path.IsAbs(p) || strings.HasPrefix(p, "..") {
		return false
	}
	for element := range strings.SplitSeq(p, "/") {
		if element == ".." {
			return false
		}
	}
	return true
}

func FuzzPath(f *testing.F) {
	for _, p := range []string{
		"", ".", "..", "..x", "x..", "a/../b", "a/..b", "/x", "a//b", "a/", "./a.md", "a.md", "_root.a", "_hash.a", "__", "_x2E", ".revision.md",
		"guide/はじめに.md", "a b\u00a0c.md", "é", "e\u0301", "\u202ea", "\ufeffa", "a\\b", "a\x00b", "\xff", "👩‍👩‍👧.md",
		strings.Repeat("a", 300), strings.Repeat("é", 120), strings.Repeat("a/", 511) + "b",
	} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if err := v1.ValidatePagePath(p); err != nil {
			return
		}
		checkKey(t, p)
		if at := path.Join("src", p); !acceptedItemPath(at) {
			t.Errorf("Kubernetes refuses to project a key to %q", at)
		}
		if (v1.ValidateVolumePath(p) == nil) != acceptedItemPath(p) {
			t.Errorf("Kubernetes projects a key to %q: %v", p, acceptedItemPath(p))
		}
		if path.Clean(p) != p {
			t.Errorf("%q isn't clean", p)
		}
	})
}
