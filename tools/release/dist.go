package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const checksumsFile = "checksums.txt"

// entry is a file of an archive.
type entry struct {
	name    string
	content []byte
	mode    int64
}

// archive packs each program of a platform, with the licences.
func (r *release) archive(p platform) error {
	license, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return err
	}
	others, err := rootfs.ReadFile("rootfs/" + licensesFile)
	if err != nil {
		return err
	}
	for _, program := range programs {
		path, file := r.program(p, program)
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pack := writeTarGzip
		if p.os == "windows" {
			pack = writeZip
		}
		var archive bytes.Buffer
		if err := pack(&archive, r.created, []entry{{file, content, 0o755}, {"LICENSE", license, 0o644}, {"LICENSES-third-party.txt", others, 0o644}}); err != nil {
			return err
		}
		if err := r.write(r.archiveName(p, program), archive.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) archiveName(p platform, program string) string {
	if p.os == "windows" {
		return r.name(program, "_"+p.file()+".zip")
	}
	return r.name(program, "_"+p.file()+".tar.gz")
}

// writeTar writes entries in their order, all of one time and of root's.
func writeTar(w io.Writer, modified time.Time, entries []entry) error {
	archive := tar.NewWriter(w)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.content)), Mode: e.mode, ModTime: modified, Format: tar.FormatUSTAR}
		if strings.HasSuffix(e.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(e.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeTarGzip(w io.Writer, modified time.Time, entries []entry) error {
	compressed := gzip.NewWriter(w)
	return errors.Join(writeTar(compressed, modified, entries), compressed.Close())
}

func writeZip(w io.Writer, modified time.Time, entries []entry) error {
	archive := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: modified}
		header.SetMode(os.FileMode(e.mode)) //nolint:gosec // of ours: 0755 or 0644
		file, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(e.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// writeChecksums lists the files of a folder as sha256sum does.
func writeChecksums(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, file := range files {
		sum, err := checksum(filepath.Join(folder, file.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, file.Name())
	}
	return os.WriteFile(filepath.Join(folder, checksumsFile), []byte(list.String()), 0o644)
}

// verifyChecksums reports what differs from a folder's list.
func verifyChecksums(folder string) error {
	list, err := os.ReadFile(filepath.Join(folder, checksumsFile))
	if err != nil {
		return fmt.Errorf("%w: fill the folder with release build", err)
	}
	for line := range strings.Lines(string(list)) {
		want, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || name != filepath.Base(name) {
			return fmt.Errorf("%s: unexpected line %q", checksumsFile, line)
		}
		got, err := checksum(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s isn't what %s says: make the release anew", filepath.Join(folder, name), checksumsFile)
		}
	}
	return nil
}

func checksum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// checkReplaceable refuses to replace a folder that no release is in.
func checkReplaceable(dist string) error {
	entries, err := os.ReadDir(dist)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dist, checksumsFile)); err != nil {
		return fmt.Errorf("%s holds no release, and isn't replaced by one: remove it, or name another folder", dist)
	}
	return nil
}
