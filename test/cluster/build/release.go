package build

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// release is a program as its publisher offers it.
type release struct {
	// version is what the program says that it is, if asked with versionArgs.
	version     string
	versionArgs []string
	// program is its name, and archive that of the gzipped tar file that holds it; empty if
	// the file at url is the program itself.
	program, archive string
	// url is where it is, and checksums where the publisher says the SHA-256 of what is there.
	url, checksums string
	// sumOf finds the SHA-256 in what is at checksums, as hex digits.
	sumOf func(checksums []byte) (string, error)
}

// Most that is read of a publisher's files, in bytes: a program has some 130 MB.
const (
	mostChecksums = 8 << 20
	mostProgram   = 1 << 30
)

// downloads fetches released programs.
type downloads struct {
	client *http.Client
	// stall is for how long nothing may come.
	stall time.Duration
}

// newDownloads gives up soon where the network says no, so that compiling can begin.
func newDownloads() *downloads {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	return &downloads{
		client: &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dialer.DialContext,
			TLSHandshakeTimeout:   5 * time.Second,
			ResponseHeaderTimeout: 15 * time.Second,
			ForceAttemptHTTP2:     true,
		}},
		stall: 15 * time.Second,
	}
}

// all fetches programs into a folder, at the same time; the first that can't be had, or
// isn't what its publisher says, ends it.
func (d *downloads) all(ctx context.Context, releases []release, folder string, progress *progress) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range releases {
		group.Go(func() error {
			if err := d.one(ctx, r, folder, progress); err != nil {
				return fmt.Errorf("downloading %s: %w", r.program, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (d *downloads) one(ctx context.Context, r release, folder string, progress *progress) error {
	if found := r.inPath(ctx); found != "" {
		return os.Symlink(found, filepath.Join(folder, r.program))
	}
	sum, err := d.checksum(ctx, r)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, ".download-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	defer func() { _ = file.Close() }()

	hash := sha256.New()
	if err := d.get(ctx, r.url, mostProgram, io.MultiWriter(file, hash), progress); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return fmt.Errorf("%s has the SHA-256 %s, but %s says %s", r.url, got, r.checksums, sum)
	}
	if r.archive != "" {
		return unpack(file, r, folder)
	}
	if err := file.Chmod(0o755); err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(folder, r.program))
}

// inPath returns the path of the program if it is in PATH, in the version that is wanted.
func (r release) inPath(ctx context.Context) string {
	found, err := exec.LookPath(r.program)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	said, err := exec.CommandContext(ctx, found, r.versionArgs...).Output()
	if err != nil || !slices.Contains(strings.Fields(string(said)), r.version) {
		return ""
	}
	found, err = filepath.EvalSymlinks(found)
	if err != nil || filepath.Base(found) != r.program {
		return "" // a program that acts by the name it is called by
	}
	return found
}

func (d *downloads) checksum(ctx context.Context, r release) (string, error) {
	var content bytes.Buffer
	if err := d.get(ctx, r.checksums, mostChecksums, &content, nil); err != nil {
		return "", err
	}
	sum, err := r.sumOf(content.Bytes())
	if err == nil {
		var decoded []byte
		if decoded, err = hex.DecodeString(sum); err == nil && len(decoded) != sha256.Size {
			err = fmt.Errorf("%d bytes long", len(decoded))
		}
	}
	if err != nil {
		return "", fmt.Errorf("no SHA-256 of it in %s: %w", r.checksums, err)
	}
	return strings.ToLower(sum), nil
}

// get copies what is at an address, at most so many bytes. It ends when nothing comes.
func (d *downloads) get(ctx context.Context, url string, most int64, to io.Writer, progress *progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(d.stall, func() { cancel(fmt.Errorf("%s sent nothing for %s", url, d.stall)) })
	defer stalled.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := d.client.Do(request)
	if err != nil {
		return causeOf(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	progress.expect(response.ContentLength)
	body := &watched{from: io.LimitReader(response.Body, most+1), seen: func(n int) {
		stalled.Reset(d.stall)
		progress.add(n)
	}}
	copied, err := io.Copy(to, body)
	switch {
	case err != nil:
		return causeOf(ctx, err)
	case copied > most:
		return fmt.Errorf("%s has more than %d bytes", url, most)
	}
	return nil
}

// causeOf tells why a context was cancelled where that is what an error comes of.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// unpack writes the program that is in an archive.
func unpack(archive *os.File, r release, folder string) error {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	unzipped, err := gzip.NewReader(bufio.NewReader(archive))
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", r.url, err)
	}
	files := tar.NewReader(unzipped)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s has no %s", r.url, r.archive)
		}
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", r.url, err)
		}
		if header.Typeflag != tar.TypeReg || path.Clean(header.Name) != r.archive {
			continue
		}
		return writeProgram(filepath.Join(folder, r.program), io.LimitReader(files, mostProgram))
	}
}

func writeProgram(name string, content io.Reader) (err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(file, content)
	return err
}

// watched tells of each piece that is read.
type watched struct {
	from io.Reader
	seen func(n int)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if n > 0 {
		w.seen(n)
	}
	return n, err
}

// progress counts what several downloads have fetched. Nil counts nothing.
type progress struct {
	began          atomic.Int64 // Unix time in nanoseconds
	done, expected atomic.Int64
}

func (p *progress) expect(bytes int64) {
	if p != nil && bytes > 0 {
		p.began.CompareAndSwap(0, time.Now().UnixNano())
		p.expected.Add(bytes)
	}
}

func (p *progress) add(bytes int) {
	if p != nil {
		p.done.Add(int64(bytes))
	}
}

// String says how far the downloads are, and how long they will take at this rate.
func (p *progress) String() string {
	done, expected := p.done.Load(), p.expected.Load()
	text := fmt.Sprintf("downloaded %d of %d MB", done/1e6, expected/1e6)
	if done > 0 && expected > done {
		spent := time.Since(time.Unix(0, p.began.Load()))
		left := time.Duration(float64(spent) * float64(expected-done) / float64(done))
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return text
}

// onlySum reads a file that holds nothing but a checksum.
func onlySum(checksums []byte) (string, error) {
	return string(bytes.TrimSpace(checksums)), nil
}

// sumInList reads the output of sha256sum.
func sumInList(file string) func([]byte) (string, error) {
	return func(checksums []byte) (string, error) {
		for line := range bytes.Lines(checksums) {
			if fields := strings.Fields(string(line)); len(fields) == 2 && strings.TrimPrefix(fields[1], "*") == file {
				return fields[0], nil
			}
		}
		return "", fmt.Errorf("%s isn't listed", file)
	}
}

// sumInRelease reads what GitHub's API says of a release.
func sumInRelease(file string) func([]byte) (string, error) {
	return func(content []byte) (string, error) {
		var release struct {
			Assets []struct{ Name, Digest string }
		}
		if err := json.Unmarshal(content, &release); err != nil {
			return "", err
		}
		for _, asset := range release.Assets {
			if sum, ok := strings.CutPrefix(asset.Digest, "sha256:"); ok && asset.Name == file {
				return sum, nil
			}
		}
		return "", fmt.Errorf("%s isn't listed", file)
	}
}
