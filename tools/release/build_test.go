package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheSameCommitGivesTheSameBytes(t *testing.T) {
	first := mustBuild(t, newProject(t))
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("GOFLAGS", "-tags=other")
	t.Setenv("GOAMD64", "v3")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GOCACHE", filepath.Join(t.TempDir(), "cache")) // all is compiled anew
	t.Setenv("GOMODCACHE", filepath.Join(t.TempDir(), "modules"))
	second := mustBuild(t, newProject(t))
	want := readFile(t, first, checksumsFile)
	if diff := cmp.Diff(want, readFile(t, second, checksumsFile)); diff != "" {
		t.Errorf("the second release differs (-first +second):\n%s", diff)
	}
	var listed []string
	for _, line := range lines(want) {
		listed = append(listed, strings.Fields(line)[1])
	}
	if diff := cmp.Diff([]string{
		"controller_v1.2.3_linux_amd64.tar.gz", "controller_v1.2.3_linux_arm64.tar.gz", "controller_v1.2.3_windows_amd64.zip",
		"fn_v1.2.3_linux_amd64.tar.gz", "fn_v1.2.3_linux_arm64.tar.gz", "fn_v1.2.3_windows_amd64.zip",
		"install.yaml", "markdown-view_v1.2.3.spdx.json", "markdown-view_v1.2.3_image.oci.tar", "markdown-view_v1.2.3_manifests.oci.tar",
		"release-notes.md",
	}, listed); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, err := exec.LookPath("sha256sum"); err == nil {
		if out, err := output(t.Context(), second, nil, "sha256sum", "--check", "--strict", checksumsFile); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if rest, err := filepath.Glob(filepath.Join(filepath.Dir(second), ".*")); err != nil || len(rest) > 0 {
		t.Errorf("left behind: %v, %v", rest, err)
	}
}

func TestArchivesHoldTheProgramAndTheLicense(t *testing.T) {
	dist := mustBuild(t, newProject(t))
	for _, program := range programs {
		folder := t.TempDir()
		if diff := cmp.Diff([]string{program, "LICENSE", "LICENSES-third-party.txt"}, unpackTarGzip(t, filepath.Join(dist, program+"_v1.2.3_linux_amd64.tar.gz"), folder)); diff != "" {
			t.Error(diff)
		}
		archive, err := zip.OpenReader(filepath.Join(dist, program+"_v1.2.3_windows_amd64.zip"))
		if err != nil {
			t.Fatal(err)
		}
		if names := []string{archive.File[0].Name, archive.File[1].Name, archive.File[2].Name}; !cmp.Equal(names, []string{program + ".exe", "LICENSE", "LICENSES-third-party.txt"}) {
			t.Errorf("the zip holds %v", names)
		}
		_ = archive.Close()
		if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
			continue
		}
		info, err := buildinfo.ReadFile(filepath.Join(folder, program))
		if err != nil {
			t.Fatal(err)
		}
		if byProfile := (debug.BuildSetting{Key: "-pgo", Value: filepath.Base(pgoProfile)}); !slices.Contains(info.Settings, byProfile) {
			t.Errorf("%s isn't compiled by the profile: %v", program, info.Settings)
		}
		out, err := exec.CommandContext(t.Context(), filepath.Join(folder, program)).CombinedOutput()
		if got := string(out); err != nil || got != program+" v1.2.3\n" {
			t.Errorf("%s prints %q, %v", program, got, err)
		}
	}
}

// unpackTarGzip unpacks an archive and returns the names in it.
func unpackTarGzip(t *testing.T, file, folder string) []string {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	text, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	archive := tar.NewReader(text)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, header.Name), content, os.FileMode(header.Mode)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, source, dist string)
		args   []string
		want   string
	}{
		"no version":                        {args: []string{"-version", ""}, want: "set VERSION=v1.2.3"},
		"a commit as the version":           {args: []string{"-version", "39aa7d9"}, want: "must be like v1.2.3"},
		"a version without the v":           {args: []string{"-version", "1.2.3"}, want: "must be like v1.2.3"},
		"a version that no tag can be":      {args: []string{"-version", "v1.2.3+build"}, want: "must be like v1.2.3"},
		"half a version":                    {args: []string{"-version", "v1.2"}, want: "must be like v1.2.3"},
		"a version nobody described":        {args: []string{"-version", "v1.3.0"}, want: "CHANGELOG.md has no section for v1.3.0"},
		"no platform for the image":         {args: []string{"-platforms", "windows/amd64"}, want: "no platform has Linux"},
		"a platform twice":                  {args: []string{"-platforms", "linux/amd64,linux/amd64"}, want: "twice"},
		"half a platform":                   {args: []string{"-platforms", "linux"}, want: "must be like linux/amd64"},
		"a platform that Go doesn't know":   {args: []string{"-platforms", "linux/z80"}, want: "linux/z80"},
		"a name that no image can have":     {args: []string{"-image", "Upper/Case"}, want: "Upper/Case"},
		"an argument too many":              {args: []string{"more"}, want: `unexpected argument "more"`},
		"a folder that holds somebody's":    {change: func(t *testing.T, _, dist string) { writeFile(t, filepath.Join(dist, "mine"), "x") }, want: "holds no release"},
		"changes that aren't committed":     {change: func(t *testing.T, source, _ string) { writeFile(t, filepath.Join(source, "new"), "x") }, want: "what isn't committed can't be v1.2.3"},
		"a program that doesn't compile":    {change: func(t *testing.T, source, _ string) { breakProgram(t, source) }, args: []string{"-version", "v1.2.3-rc.1"}, want: "undefined: nothing"},
		"an epoch that is no number":        {change: func(t *testing.T, _, _ string) { t.Setenv("SOURCE_DATE_EPOCH", "today") }, want: `SOURCE_DATE_EPOCH is "today"`},
		"a folder that isn't in repository": {args: []string{"-source", os.TempDir()}, want: "git"},
	} {
		t.Run(name, func(t *testing.T) {
			source, dist := newProject(t), filepath.Join(t.TempDir(), "dist")
			if test.change != nil {
				test.change(t, source, dist)
			}
			before, _ := os.ReadDir(dist)
			_, err := tryBuild(t.Context(), source, dist, append([]string{"-platforms", "linux/amd64"}, test.args...)...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, without %q", err, test.want)
			}
			if after, _ := os.ReadDir(dist); len(after) != len(before) {
				t.Errorf("there is half a release: %v", after)
			}
		})
	}
}

// TestNothingIsLeftOfAnInterruptedRelease: Go is told, so that it ends its compilers.
func TestNothingIsLeftOfAnInterruptedRelease(t *testing.T) {
	source, folder := newProject(t), t.TempDir()
	compiler, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	began, told := filepath.Join(folder, "began"), filepath.Join(folder, "told")
	writeFile(t, filepath.Join(folder, "bin", "go"), "#!/bin/sh\n[ \"$1\" = build ] || exec '"+compiler+"' \"$@\"\n"+
		"trap ': >\""+told+"\"; exit 1' INT\n: >'"+began+"'\nwhile :; do sleep 0.1; done\n")
	if err := os.Chmod(filepath.Join(folder, "bin", "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(folder, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for range look.C {
			if _, err := os.Stat(began); err == nil || ctx.Err() != nil {
				interrupt()
				return
			}
		}
	}()
	if stderr, err := tryBuild(ctx, source, filepath.Join(folder, "dist", "v1")); err == nil {
		t.Errorf("it succeeds: %s", stderr)
	}
	if _, err := os.Stat(told); err != nil {
		t.Errorf("Go wasn't told: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(folder, "dist")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func breakProgram(t *testing.T, source string) {
	t.Helper()
	writeFile(t, filepath.Join(source, "fn", "main.go"), "package main\n\nfunc main() { nothing() }\n")
}

func TestAPreReleaseMayHaveChanges(t *testing.T) {
	source, dist := newProject(t), filepath.Join(t.TempDir(), "dist")
	writeFile(t, filepath.Join(source, "new"), "x")
	for range 2 { // the second replaces the first
		stderr, err := tryBuild(t.Context(), source, dist, "-version", "v1.3.0-rc.1", "-platforms", "linux/amd64")
		if err != nil || !strings.Contains(stderr, "warning: nobody else can make this v1.3.0-rc.1") {
			t.Fatalf("%v, %s", err, stderr)
		}
	}
	if notes := readFile(t, dist, "release-notes.md"); notes != "# markdown-view v1.3.0-rc.1\n\n- Next.\n" {
		t.Errorf("the notes are %q", notes)
	}
}

func TestNotesAreTheVersionsSection(t *testing.T) {
	const changelog = "# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2026-02-01\n\n### Fixed\n\n- B.\n\n## 1.0.0\n\n- A.\n\n## [0.9.0]\n\n[1.1.0]: https://example.com\n"
	for version, want := range map[string]string{
		"v1.1.0":      "# markdown-view v1.1.0\n\n### Fixed\n\n- B.\n",
		"v1.0.0":      "# markdown-view v1.0.0\n\n- A.\n",
		"v1.2.0-rc.1": "# markdown-view v1.2.0-rc.1\n\nNothing that users notice.\n",
		"v0.9.0":      "error: CHANGELOG.md says nothing of v0.9.0",
		"v1.2.0":      "error: CHANGELOG.md has no section for v1.2.0",
	} {
		source := t.TempDir()
		writeFile(t, filepath.Join(source, "CHANGELOG.md"), changelog)
		got, err := (&release{buildOptions: buildOptions{source: source, version: version}}).notes()
		text := string(got)
		if err != nil {
			text, _, _ = strings.Cut("error: "+err.Error(), ":"+" give")
			text, _, _ = strings.Cut(text, ": list")
		}
		if text != want {
			t.Errorf("%s: %q, want %q", version, text, want)
		}
	}
}
