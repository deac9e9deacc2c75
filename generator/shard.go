package generator

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// shardCapacity is the most that a shard may weigh, in bytes. The API server
// holds a ConfigMap's values to 1 MiB; the rest is for the revision key.
const shardCapacity = 1<<20 - 1<<10

// valueBytes is the most that one entry may hold, in bytes: 4 KiB are left for keys and
// the revision key.
const valueBytes = 1<<20 - 4<<10

// keyOverhead is what an entry weighs beside its key and its content: its place
// in managedFields and its lengths.
const keyOverhead = 16

// shard is the part of a book that one ConfigMap holds.
type shard struct {
	index    int
	entries  []entry // sorted by key
	revision string  // digest of entries
}

// weight is what an entry takes of a ConfigMap: its key is stored a second time
// in managedFields.
func (e entry) weight() int {
	return len(e.content) + 2*len(e.key) + keyOverhead
}

// divide spreads entries, sorted by key, over as many shards as they need. Shard
// 0 is always there.
//
// Where an entry goes is decided by the bits of its key's hash: a shard that is
// too full is split in two by the next bit. So an edit changes one shard, and a
// new page that doesn't fit splits one shard and leaves all others as they are.
func divide(entries []entry) []shard {
	shards := split(entries, 0, 0)
	if len(shards) == 0 || shards[0].index != 0 {
		shards = append(shards, shard{revision: digest(nil)})
	}
	slices.SortFunc(shards, func(a, b shard) int { return cmp.Compare(a.index, b.index) })
	return shards
}

func split(entries []entry, index, depth int) []shard {
	if len(entries) == 0 {
		return nil
	}
	total := 0
	for _, e := range entries {
		total += e.weight()
	}
	if total <= shardCapacity || len(entries) == 1 {
		return []shard{{index: index, entries: entries, revision: digest(entries)}}
	}
	var low, high []entry
	for _, e := range entries {
		if keyHash(e.key)>>depth&1 == 0 {
			low = append(low, e)
		} else {
			high = append(high, e)
		}
	}
	return append(split(low, index, depth+1), split(high, index|1<<depth, depth+1)...)
}

// keyHash is cryptographic so that nobody can name pages that all fall into one
// shard.
func keyHash(key string) uint64 {
	sum := sha256.Sum256([]byte(key))
	return binary.BigEndian.Uint64(sum[:])
}
