package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licensesFile is the file of rootfs with the licences of what the programs are linked with.
// It is in archives, too.
const licensesFile = "licenses/third-party.txt"

// licenseNames are how the files of licences and of notices, which have to be passed on with
// programs, are called.
var licenseNames = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-_.].*)?$`)

// licenses are texts by the modules, or parts of modules, that have them. Versions are in
// the SBOM.
type licenses map[string]map[string]bool

// writeLicenses writes the licences of whatever the programs are linked with, on any of the
// platforms.
func writeLicenses(ctx context.Context, source string, platforms []platform, out string) error {
	found := licenses{}
	goroot, err := output(ctx, source, nil, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	goroot = strings.TrimSpace(goroot)
	if err := found.add("Go's standard library", goroot, goroot); err != nil {
		return err
	}
	for _, p := range platforms {
		if err := found.addLinked(ctx, source, p); err != nil {
			return err
		}
	}
	return os.WriteFile(out, found.text(), 0o644)
}

// addLinked adds the licences of the packages that are linked on a platform.
func (l licenses) addLinked(ctx context.Context, source string, p platform) error {
	args := []string{"list", "-deps", "-json=Dir,Module"}
	for _, program := range programs {
		args = append(args, "./"+program)
	}
	listed, err := output(ctx, source, []string{"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off"}, "go", args...)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(listed))
	for {
		var listed struct {
			Dir    string
			Module *struct {
				Path, Dir string
				Main      bool
			}
		}
		err := decoder.Decode(&listed)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		if listed.Module == nil || listed.Module.Main { // Go's, or ours
			continue
		}
		if err := l.add(listed.Module.Path, listed.Module.Dir, listed.Dir); err != nil {
			return err
		}
	}
}

// add adds what is in a package's folder, and in those above it up to its module's.
func (l licenses) add(module, root, folder string) error {
	for ; ; folder = filepath.Dir(folder) {
		below, err := filepath.Rel(root, folder)
		if err != nil {
			return err
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if entry.IsDir() || !licenseNames.MatchString(entry.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
			if err != nil {
				return err
			}
			l.note(filepath.ToSlash(filepath.Join(module, below)), string(bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))))
		}
		if folder == root {
			return l.check(module)
		}
	}
}

func (l licenses) note(owner, text string) {
	if l[text] == nil {
		l[text] = map[string]bool{}
	}
	l[text][owner] = true
}

// check reports a module that has no licence: nobody may pass it on.
func (l licenses) check(module string) error {
	for _, owners := range l {
		if owners[module] {
			return nil
		}
	}
	return fmt.Errorf("%s has no file with a licence", module)
}

// text lists the licences, each once below those who have it.
func (l licenses) text() []byte {
	var sections []string
	for text, owners := range l {
		sections = append(sections, strings.Join(slices.Sorted(maps.Keys(owners)), "\n")+"\n\n"+text+"\n")
	}
	slices.Sort(sections)
	const line = "\n--------------------------------------------------------------------------------\n\n"
	return []byte("What the programs of markdown-view are linked with, and the licences of it.\n" + line + strings.Join(sections, line))
}
