package generator

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// largeBook has about so many MiB.
func largeBook(mebibytes int) map[string]string {
	pages := map[string]string{}
	for i := range mebibytes * 10 {
		pages[fmt.Sprintf("chapter/p%03d.md", i)] = strings.Repeat(fmt.Sprintf("%d line\n", i), 100<<10/10)
	}
	return withPages(pages)
}

// shardsOf returns what each ConfigMap holds by its name.
func shardsOf(t *testing.T, pages map[string]string) map[string]map[string]string {
	t.Helper()
	shards := map[string]map[string]string{}
	for _, configMap := range mustGenerate(t, newView("a", pages)).ConfigMaps {
		shards[*configMap.Name] = configMap.Data
	}
	return shards
}

// changed lists the names whose content differs or that only one side has.
func changed(a, b map[string]map[string]string) []string {
	var names []string
	for name := range maps.Keys(a) {
		if !maps.Equal(a[name], b[name]) {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(b) {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestShardsHoldTheWholeBookWithinTheLimit(t *testing.T) {
	pages := largeBook(8)
	pages["big.png"] = "\x00" + strings.Repeat("x", 1<<20-4<<10-1)
	output := mustGenerate(t, newView("a", pages))
	if len(output.ConfigMaps) < 9 {
		t.Errorf("%d ConfigMaps hold 9 MiB", len(output.ConfigMaps))
	}
	if got := *output.ConfigMaps[0].Name; got != "markdowns-a" {
		t.Errorf("the first ConfigMap is called %s", got)
	}

	content := map[string]string{} // ConfigMap/key → content
	for _, applied := range output.ConfigMaps {
		configMap := as[corev1.ConfigMap](t, applied)
		// As the API server's ValidateConfigMap counts.
		size, revisions := 0, 0
		for key, value := range configMap.Data {
			size += len(value)
			content[configMap.Name+"/"+key] = value
			if strings.HasPrefix(key, ".revision-") {
				revisions++
			}
		}
		for key, value := range configMap.BinaryData {
			size += len(value)
			content[configMap.Name+"/"+key] = string(value)
		}
		if size > corev1.MaxSecretSize {
			t.Errorf("%s has %d bytes", configMap.Name, size)
		}
		if revisions != 1 {
			t.Errorf("%s has %d revision keys", configMap.Name, revisions)
		}
		if problems := validation.IsDNS1123Subdomain(configMap.Name); len(problems) > 0 {
			t.Errorf("%s: %v", configMap.Name, problems)
		}
	}

	mounted := map[string]string{}
	sources := as[appsv1.Deployment](t, output.Deployment).Spec.Template.Spec.Volumes[0].Projected.Sources
	for _, source := range sources {
		for _, item := range source.ConfigMap.Items {
			value, ok := content[source.ConfigMap.Name+"/"+item.Key]
			if _, twice := mounted[item.Path]; twice || !ok {
				t.Errorf("%s: %s: twice %t, there %t", source.ConfigMap.Name, item.Key, twice, ok)
			}
			mounted[item.Path] = value
		}
	}
	for p, want := range pages {
		if mounted["src/"+p] != want {
			t.Errorf("%s isn't mounted as it is", p)
		}
		delete(mounted, "src/"+p)
	}
	if len(mounted) != len(sources) {
		t.Errorf("beside the pages and the revisions of %d shards are mounted: %v", len(sources), slices.Sorted(maps.Keys(mounted)))
	}
}

func TestAnEditChangesOneShard(t *testing.T) {
	pages := largeBook(3)
	before := shardsOf(t, pages)
	for i := range 8 {
		p := fmt.Sprintf("chapter/p%03d.md", i)
		edited := maps.Clone(pages)
		edited[p] = "edited\n" + pages[p][len("edited\n"):]
		if got := changed(before, shardsOf(t, edited)); len(got) != 1 {
			t.Errorf("an edit of %s changed %v", p, got)
		}
	}
}

func TestANewPageChangesOrSplitsOneShard(t *testing.T) {
	pages := largeBook(2)
	split := false
	before := shardsOf(t, pages)
	for i := range 20 {
		pages[fmt.Sprintf("new%d.txt", i)] = strings.Repeat("x", 120<<10)
		after := shardsOf(t, pages)
		got := changed(before, after)
		switch len(after) - len(before) {
		case 0:
			if len(got) != 1 {
				t.Errorf("page %d changed %v", i, got)
			}
		default:
			split = true
			created := 0
			for _, name := range got {
				if _, existed := before[name]; !existed {
					created++
				}
			}
			if len(got)-created != 1 {
				t.Errorf("page %d split %v", i, got)
			}
		}
		before = after
	}
	if !split {
		t.Error("no shard was split")
	}
}

func TestShardZeroIsAlwaysThere(t *testing.T) {
	// Pages that all fall into the half that isn't shard 0's.
	var entries []entry
	for i := 0; len(entries) < 3; i++ {
		if key := fmt.Sprintf("p%d.md", i); keyHash(key)&1 == 1 {
			entries = append(entries, entry{key: key, content: bytes.Repeat([]byte("x"), 400<<10)})
		}
	}
	shards := divide(entries)
	if len(shards) < 2 || shards[0].index != 0 || len(shards[0].entries) != 0 {
		t.Fatalf("shard 0 isn't the first, or isn't empty: %d shards", len(shards))
	}
	if shards[0].revision == "" {
		t.Error("the empty shard has no revision")
	}
}

func TestShardsOfRandomBooks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, valueBytes)
	for range 20 {
		var entries []entry
		for i := range random.IntN(40) {
			entries = append(entries, entry{
				key:     fmt.Sprintf("%d-%d", i, random.Uint32()),
				content: content[:random.IntN(len(content))],
			})
		}
		slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
		seen := map[string]bool{}
		last := -1
		for _, s := range divide(entries) {
			if s.index <= last {
				t.Fatalf("shard %d comes after shard %d", s.index, last)
			}
			last = s.index
			weight := 0
			for _, e := range s.entries {
				if seen[e.key] {
					t.Fatalf("%s is in two shards", e.key)
				}
				seen[e.key] = true
				weight += e.weight()
			}
			if weight > shardCapacity && len(s.entries) > 1 {
				t.Fatalf("a shard weighs %d", weight)
			}
		}
		if len(seen) != len(entries) {
			t.Fatalf("%d of %d entries are in a shard", len(seen), len(entries))
		}
	}
}

func TestDigestTellsContentsApart(t *testing.T) {
	base := map[string]string{"a.md": "a", "b.md": "b", "c.png": "\x00"}
	revision := func(change func(pages map[string]string)) string {
		pages := withPages(base)
		change(pages)
		return mustGenerate(t, newView("a", pages)).Revision
	}
	want := revision(func(map[string]string) {})
	if len(want) != len("sha256:")+64 || !strings.HasPrefix(want, "sha256:") {
		t.Errorf("revision = %s", want)
	}
	if got := revision(func(map[string]string) {}); got != want {
		t.Errorf("the same book has the revisions %s and %s", want, got)
	}
	seen := map[string]string{want: "the book as it was"}
	for name, change := range map[string]func(pages map[string]string){
		"an edit":                       func(p map[string]string) { p["a.md"] = "A" },
		"a space at the end":            func(p map[string]string) { p["a.md"] = "a " },
		"a new page":                    func(p map[string]string) { p["d.md"] = "" },
		"a page less":                   func(p map[string]string) { delete(p, "c.png") },
		"a page renamed":                func(p map[string]string) { delete(p, "c.png"); p["d.png"] = "\x00" },
		"two pages exchanged":           func(p map[string]string) { p["a.md"], p["b.md"] = p["b.md"], p["a.md"] },
		"a letter moved to a neighbour": func(p map[string]string) { p["a.md"], p["b.md"] = "", "ab" },
	} {
		got := revision(change)
		if other, ok := seen[got]; ok {
			t.Errorf("%s has the same revision as %s", name, other)
		}
		seen[got] = name
	}
}

func TestDigestIsOfTheContentAlone(t *testing.T) {
	a, b := tutorialView(), tutorialView()
	b.Name, b.Namespace, b.Spec.ViewerImage = "other", "elsewhere", "image"
	replicas := int32(5)
	b.Spec.Replicas = &replicas
	if diff := cmp.Diff(mustGenerate(t, a).Revision, mustGenerate(t, b).Revision); diff != "" {
		t.Error(diff)
	}
}
