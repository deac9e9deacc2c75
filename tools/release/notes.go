package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

var (
	heading    = regexp.MustCompile(`(?m)^## \[?([^\]\s]+)\]?.*\n`)
	references = regexp.MustCompile(`(?m)^\[[^\]]+\]: .*\n?`)
)

// notes are what CHANGELOG.md says of the version. A pre-release may be of what isn't
// released yet.
func (r *release) notes() ([]byte, error) {
	changelog, err := os.ReadFile(filepath.Join(r.source, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	text := string(changelog)
	number := strings.TrimPrefix(r.version, "v")
	section, ok := changes(text, number)
	if !ok && semver.Prerelease(r.version) != "" {
		if section, _ = changes(text, "Unreleased"); section == "" {
			section = "Nothing that users notice."
		}
		ok = true
	}
	if !ok {
		return nil, fmt.Errorf("CHANGELOG.md has no section for %s: give what is below [Unreleased] the heading '## [%s] - <date>'", r.version, number)
	}
	if section == "" {
		return nil, fmt.Errorf("CHANGELOG.md says nothing of %s: list what users notice", r.version)
	}
	var notes bytes.Buffer
	fmt.Fprintf(&notes, "# markdown-view %s\n\n%s\n", r.version, section)
	return notes.Bytes(), nil
}

// changes returns what is below a version's heading.
func changes(changelog, version string) (string, bool) {
	headings := heading.FindAllStringSubmatchIndex(changelog, -1)
	for i, h := range headings {
		if changelog[h[2]:h[3]] != version {
			continue
		}
		end := len(changelog)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		return strings.TrimSpace(references.ReplaceAllString(changelog[h[1]:end], "")), true
	}
	return "", false
}
