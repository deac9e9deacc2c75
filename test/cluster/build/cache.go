package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// keepUnused is how long a build stays in the cache after its last use.
const keepUnused = 30 * 24 * time.Hour

// recipe says what to build from one module.
type recipe struct {
	// name is the folder in the cache.
	name string
	// versions begin the key.
	versions []string
	// module is the folder of the module's go.mod.
	module string
	// sources are the folders below module whose Go files are inputs.
	sources []string
	// steps make the files of bin, in this order.
	steps []step
	// background has what else runs on the machine go first.
	background bool
	// downloads says where the programs of steps may come from instead; nil compiles them.
	downloads *downloads
}

// step is one go command, or the making of links.
type step struct {
	what string
	// packages are what is compiled, for the estimate of how long it takes.
	packages []string
	// args are the go command's arguments; ${BIN} stands for the folder that
	// the programs go into.
	args []string
	// stdout is the file in ${BIN} that the output goes to; empty: nowhere.
	stdout string
	// links are names for the program called linkTo.
	linkTo string
	links  []string
	// released are the programs that the step makes, as their publishers offer them; empty
	// if they don't.
	released []release
}

// cached returns the folder with the recipe's programs, and makes it before if
// it has to.
func (r recipe) cached(ctx context.Context, log Log) (string, error) {
	root, err := cacheFolder(r.name)
	if err != nil {
		return "", err
	}
	key, err := r.key()
	if err != nil {
		return "", err
	}
	final := filepath.Join(root, key)
	if found := r.present(final); found != "" {
		return found, nil
	}
	unlock, err := lock(ctx, root, log)
	if err != nil {
		return "", err
	}
	defer unlock()
	if found := r.present(final); found != "" { // somebody made it while this one waited
		return found, nil
	}
	if final, err = r.make(ctx, root, final, log); err != nil {
		return "", fmt.Errorf("building the %s programs: %w", r.name, err)
	}
	return filepath.Join(final, "bin"), nil
}

// downloadedSuffix ends the name of a build of which something was downloaded.
const downloadedSuffix = "-downloaded"

// present returns the folder of the programs, empty if they aren't there. Compiled ones
// are as good as downloaded ones.
func (r recipe) present(final string) string {
	if present(final) {
		return filepath.Join(final, "bin")
	}
	if final += downloadedSuffix; r.downloads != nil && present(final) && r.complete(final) {
		return filepath.Join(final, "bin")
	}
	return ""
}

// make returns the folder that it has made.
func (r recipe) make(ctx context.Context, root, final string, log Log) (string, error) {
	if err := clean(root); err != nil {
		return "", err
	}
	building, err := os.MkdirTemp(root, buildingPrefix)
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(building) }() // after a failure; if that fails too, clean does it
	bin := filepath.Join(building, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return "", err
	}
	downloaded, err := r.run(ctx, bin, log)
	if err != nil {
		return "", err
	}
	if downloaded {
		final += downloadedSuffix
	}
	if err := os.RemoveAll(final); err != nil { // one that isn't complete any more
		return "", err
	}
	return final, os.Rename(building, final)
}

// complete reports whether a build still has the programs that may be links to others of
// the machine.
func (r recipe) complete(folder string) bool {
	for _, step := range r.steps {
		for _, release := range step.released {
			if _, err := os.Stat(filepath.Join(folder, "bin", release.program)); err != nil {
				return false
			}
		}
	}
	return true
}

// key is different whenever the programs could be.
func (r recipe) key() (string, error) {
	hash := sha256.New()
	var packages []string
	for _, step := range r.steps {
		packages = append(packages, step.packages...)
	}
	hash.Write(fmt.Append(nil, packages, environment))
	for _, step := range r.steps {
		hash.Write(fmt.Append(nil, step.args, step.stdout, step.links, step.linkTo))
	}
	add := func(path string) error {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.module, path)
		hash.Write(fmt.Appendln(nil, name, len(content)))
		hash.Write(content)
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := add(filepath.Join(r.module, name)); err != nil {
			return "", err
		}
	}
	for _, folder := range r.sources {
		err := filepath.WalkDir(filepath.Join(r.module, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			return add(path)
		})
		if err != nil {
			return "", err
		}
	}
	parts := slices.Concat(r.versions, []string{runtime.Version(), runtime.GOOS, runtime.GOARCH, hex.EncodeToString(hash.Sum(nil))[:12]})
	return strings.ReplaceAll(strings.Join(parts, "-"), " ", "-"), nil
}

const buildingPrefix = ".building-"

// present reports whether a build is there, and notes that it is used.
func present(folder string) bool {
	info, err := os.Stat(folder)
	if err != nil {
		return false
	}
	if time.Since(info.ModTime()) > 24*time.Hour {
		_ = os.Chtimes(folder, time.Time{}, time.Now()) // at worst it is built again one day
	}
	return true
}

// clean removes builds that were cut off and those that nobody uses any more.
// It is called under the lock.
func clean(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	var failed []error
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() {
			continue
		}
		if strings.HasPrefix(entry.Name(), buildingPrefix) || time.Since(info.ModTime()) > keepUnused {
			failed = append(failed, os.RemoveAll(filepath.Join(root, entry.Name())))
		}
	}
	return errors.Join(failed...)
}

// lock waits until no other build runs in this part of the cache. The kernel
// frees the lock of a process that dies.
func lock(ctx context.Context, root string, log Log) (unlock func(), err error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(root, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for waiting := false; ; waiting = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // closing unlocks
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", file.Name(), err), file.Close())
		}
		if !waiting {
			log.Printf("another build is running; waiting for it")
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// cacheFolder is where the programs of one recipe are kept.
func cacheFolder(name string) (string, error) {
	base, err := Cache()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, name), nil
}

// Cache is the project's folder in the user's cache: below $XDG_CACHE_HOME, or
// below ~/.cache if that isn't set.
func Cache() (string, error) {
	base := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) { // the XDG specification: ignore a relative one
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding a cache folder: %w; set XDG_CACHE_HOME", err)
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "markdown-view"), nil
}
