package artifact

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fluxcd/pkg/apis/meta"
)

func TestKeptBytesAreBounded(t *testing.T) {
	store := newTestStore(t, Limits{KeptBytes: 5 * block}, nil)
	s := newServer(t, store)
	var artifacts []*meta.Artifact
	for i := range 5 {
		artifact := s.add(fmt.Sprintf("%d.tar.gz", i), start(t, strings.Repeat(fmt.Sprint(i), 1000)))
		artifacts = append(artifacts, artifact)
		if _, err := store.fetched(own, artifact); err != nil {
			t.Fatal(err)
		}
	}
	store.mu.Lock()
	kept := store.kept
	store.mu.Unlock()
	if kept > 5*block {
		t.Errorf("%d bytes are kept", kept)
	}
	before := s.asked.Load()
	if _, err := store.start(own, artifacts[4]); err != nil || s.asked.Load() != before {
		t.Errorf("the last one was fetched again: %v", err)
	}
	if _, err := store.fetched(own, artifacts[0]); err != nil || s.asked.Load() == before {
		t.Errorf("the first one was not fetched again: %v", err)
	}
}

// TestNumberOfKeptIsBounded has archives with nothing in them, which take no room.
func TestNumberOfKeptIsBounded(t *testing.T) {
	store := newTestStore(t, Limits{Kept: 2}, nil)
	s := newServer(t, store)
	for i := range 5 {
		artifact := s.add(fmt.Sprintf("%d.tar.gz", i), pack(t, func(*tar.Writer) error { return nil }))
		if _, err := store.fetched(own, artifact); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	store.mu.Lock()
	defer store.mu.Unlock()
	if len(store.byKey) != 2 {
		t.Errorf("%d artifacts are kept", len(store.byKey))
	}
}

func TestArtifactBeingReadIsNotEvicted(t *testing.T) {
	store := newTestStore(t, Limits{KeptBytes: 1}, nil)
	s := newServer(t, store)
	first := s.add("1.tar.gz", start(t, "first"))
	second := s.add("2.tar.gz", start(t, "second"))
	if _, err := store.fetched(own, first); err != nil {
		t.Fatal(err)
	}
	err := store.Read(types.NamespacedName{Name: "reader"}, own, first, func(files fs.FS) error {
		if _, err := store.fetched(own, second); err != nil {
			return err
		}
		content, err := fs.ReadFile(files, "docs/start.md")
		if string(content) != "first" {
			t.Errorf("got %q", content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
