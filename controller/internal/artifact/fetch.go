package artifact

import (
	"context"
	_ "crypto/sha256" // of digests
	_ "crypto/sha512" // of digests
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	_ "github.com/opencontainers/go-digest/blake3" // of digests

	"github.com/fluxcd/pkg/apis/meta"
)

// fetcher downloads, verifies and unpacks artifacts. Nothing is tried again here.
type fetcher struct {
	client *http.Client
	limits Limits
	// unpacking are held while unpacking.
	unpacking *slots
}

func newFetcher(limits Limits) *fetcher {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	transport.ResponseHeaderTimeout = 10 * time.Second
	transport.DisableCompression = true // the archive is what was compressed, and what the digest is of
	return &fetcher{
		client: &http.Client{
			Transport: transport,
			// Or an allowed host could send the controller to any other. Flux's don't redirect.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		limits:    limits,
		unpacking: newSlots(limits.Unpacked),
	}
}

// archiveError is what is wrong with an archive that is what its digest says. Whoever
// made the source may be told.
type archiveError struct{ error }

// Unwrap returns what is wrong.
func (e archiveError) Unwrap() error { return e.error }

// fetch returns what an artifact takes of the disk in dir, which it makes. It is unpacked in
// its turn.
func (f *fetcher) fetch(ctx context.Context, turn *unpacking, address string, artifact *meta.Artifact, dir string) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.limits.Timeout, fmt.Errorf("it takes longer than %s", f.limits.Timeout))
	defer cancel()
	archive, err := os.CreateTemp(filepath.Dir(dir), "download-*")
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = archive.Close()
		_ = os.Remove(archive.Name())
	}()
	if err := f.download(ctx, address, artifact.Digest, archive); err != nil {
		return 0, causeOr(ctx, err)
	}
	if err := f.unpacking.acquire(ctx, turn); err != nil {
		return 0, err
	}
	defer f.unpacking.release(turn)
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	bytes, err := unpack(ctx, archive, dir, f.limits)
	if err != nil {
		return 0, archiveError{causeOr(ctx, err)}
	}
	return bytes, nil
}

// causeOr says why the context ended, or what went wrong if it didn't.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// download writes an archive to a file and verifies it.
func (f *fetcher) download(ctx context.Context, address, wantedDigest string, file io.Writer) error {
	if !strings.Contains(wantedDigest, ":") {
		wantedDigest = "sha256:" + wantedDigest
	}
	wanted, err := digest.Parse(wantedDigest)
	if err != nil {
		return fmt.Errorf("its digest %q: %w", wantedDigest, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", response.Status)
	}
	verifier := wanted.Verifier()
	bytes, err := io.Copy(io.MultiWriter(file, verifier), io.LimitReader(response.Body, f.limits.DownloadBytes+1))
	switch {
	case err != nil:
		return err
	case bytes > f.limits.DownloadBytes:
		return errors.New(tooLarge(f.limits))
	case !verifier.Verified():
		return fmt.Errorf("what the server sends, %d bytes, doesn't match the digest %s", bytes, wanted)
	}
	return nil
}

func tooLarge(limits Limits) string {
	return fmt.Sprintf("it is larger than %d bytes: leave out of the source what isn't needed (spec.ignore)", limits.DownloadBytes)
}
