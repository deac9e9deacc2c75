package build

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const script = "#!/bin/sh\necho released\n"

// published serves files by their paths.
type published map[string]string

func (p published) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, ok := p[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(content))
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func archiveOf(t *testing.T, files map[string]string) string {
	t.Helper()
	var content bytes.Buffer
	zipped := gzip.NewWriter(&content)
	writer := tar.NewWriter(zipped)
	for name, text := range files {
		if err := writer.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return content.String()
}

func TestProgramsAreDownloadedOrCompiled(t *testing.T) {
	archive := archiveOf(t, map[string]string{"hello-v1/README": "read me", "hello-v1/hello": script})
	const program, sums, zipped = "/v1/hello", "/v1/hello.sha256", "/v1/hello.tar.gz"
	for name, test := range map[string]struct {
		publisher http.Handler
		archive   bool
		want      string // what the program says
		why       string // part of the log
	}{
		"a good program": {
			publisher: published{program: script, sums: sumOf(script) + "\n"},
			want:      "released\n",
		},
		"a good archive": {
			publisher: published{zipped: archive, sums: sumOf(archive)},
			archive:   true,
			want:      "released\n",
		},
		"the wrong checksum": {
			publisher: published{program: script, sums: sumOf("something else")},
			want:      "hello\n", why: "says " + sumOf("something else"),
		},
		"something that is no checksum": {
			publisher: published{program: script, sums: "<html>"},
			want:      "hello\n", why: "no SHA-256 of it in",
		},
		"no checksum": {
			publisher: published{program: script},
			want:      "hello\n", why: "404 Not Found",
		},
		"no program": {
			publisher: published{sums: sumOf(script)},
			want:      "hello\n", why: "404 Not Found",
		},
		"a truncated program": {
			publisher: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == sums {
					published{sums: sumOf(script)}.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Length", "1000")
				_, _ = w.Write([]byte(script))
			}),
			want: "hello\n", why: "unexpected EOF",
		},
		"an archive without the program": {
			publisher: published{zipped: archiveOf(t, nil), sums: sumOf(archiveOf(t, nil))},
			archive:   true,
			want:      "hello\n", why: "has no hello-v1/hello",
		},
		"an archive that is none": {
			publisher: published{zipped: script, sums: sumOf(script)},
			archive:   true,
			want:      "hello\n", why: "gzip: invalid header",
		},
		"a publisher that hangs": {
			publisher: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
			want:      "hello\n", why: "sent nothing for",
		},
		"a publisher that hangs halfway": {
			publisher: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == sums {
					published{sums: sumOf(script)}.ServeHTTP(w, r)
					return
				}
				_, _ = w.Write([]byte(script[:10]))
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}),
			want: "hello\n", why: "sent nothing for",
		},
		"no route to the publisher": {
			want: "hello\n", why: "connection refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecipe(t)
			server := httptest.NewServer(test.publisher)
			t.Cleanup(server.Close)
			if test.publisher == nil {
				server.Close()
			}
			r.downloads = newDownloads()
			r.downloads.stall = 200 * time.Millisecond
			hello := release{program: "hello", url: server.URL + program, checksums: server.URL + sums, sumOf: onlySum}
			if test.archive {
				hello.url, hello.archive = server.URL+zipped, "hello-v1/hello"
			}
			r.steps[0].released = []release{hello}
			wantProgram(t, r, test.want, test.why)
			wantBuilds(t, r, 1)
			r.downloads = nil
			if wantProgram(t, r, "hello\n", ""); test.want == "hello\n" {
				wantBuilds(t, r, 1) // what was compiled for want of a download is what is compiled
				return
			}
			if entries, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "markdown-view", "hello", "*"+downloadedSuffix, "*")); err != nil || len(entries) != 1 {
				t.Errorf("beside the programs there are %v, %v", entries, err)
			}
		})
	}
}

func TestACompiledProgramIsPreferredToADownload(t *testing.T) {
	r := newRecipe(t)
	wantProgram(t, r, "hello\n", "")
	r.downloads = newDownloads()
	r.steps[0].released = []release{{program: "hello", url: "http://127.0.0.1:1", checksums: "http://127.0.0.1:1", sumOf: onlySum}}
	wantProgram(t, r, "hello\n", "")
	wantBuilds(t, r, 1)
}

func TestCompileIsNotAnsweredWithADownload(t *testing.T) {
	r := newRecipe(t)
	server := httptest.NewServer(published{"/hello": script, "/sum": sumOf(script)})
	t.Cleanup(server.Close)
	r.downloads = newDownloads()
	r.steps[0].released = []release{{program: "hello", url: server.URL + "/hello", checksums: server.URL + "/sum", sumOf: onlySum}}
	wantProgram(t, r, "released\n", "")
	r.downloads = nil
	wantProgram(t, r, "hello\n", "")
	wantBuilds(t, r, 2)
}

func TestProgramsInPathAreUsedInTheirVersion(t *testing.T) {
	for name, test := range map[string]struct{ said, want string }{
		"the same":   {said: "v1", want: "hello v1\n"},
		"another":    {said: "v1.1", want: "hello\n"},
		"it is none": {said: "; exit 1", want: "hello\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecipe(t)
			r.downloads = newDownloads()
			folder := t.TempDir()
			program := filepath.Join(folder, "hello")
			write(t, program, "#!/bin/sh\necho hello "+test.said+"\n")
			if err := os.Chmod(program, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
			r.steps[0].released = []release{{program: "hello", version: "v1", url: "http://127.0.0.1:1", checksums: "http://127.0.0.1:1", sumOf: onlySum}}
			wantProgram(t, r, test.want, "")
			if err := os.Remove(program); err != nil {
				t.Fatal(err)
			}
			wantProgram(t, r, "hello\n", "")
		})
	}
}

func TestACancelledDownloadLeavesNothing(t *testing.T) {
	r := newRecipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	r.downloads = newDownloads()
	r.steps[0].released = []release{{program: "hello", url: server.URL, checksums: server.URL, sumOf: onlySum}}
	if _, err := r.cached(ctx, nil); err == nil {
		t.Error("no error")
	}
	wantBuilds(t, r, 0)
}

// TestTheControlPlaneIsDownloaded has a server with the publishers' layout.
func TestTheControlPlaneIsDownloaded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Kubernetes offers a control plane for Linux only")
	}
	etcd := fmt.Sprintf("etcd-v3.7.3-linux-%s", runtime.GOARCH)
	archive := archiveOf(t, map[string]string{etcd + "/etcdctl": "", etcd + "/etcd": script})
	kwok := "kwok-linux-" + runtime.GOARCH
	files := published{
		"/etcd/v3.7.3/" + etcd + ".tar.gz": archive,
		"/etcd/v3.7.3/SHA256SUMS":          sumOf("") + "  etcd-v3.7.3-darwin-amd64.zip\n" + sumOf(archive) + "  " + etcd + ".tar.gz\n",
		"/kwok/v0.8.0/" + kwok:             script,
		"/api/v0.8.0":                      fmt.Sprintf(`{"assets": [{"name": "kwok.yaml", "digest": null}, {"name": %q, "digest": "sha256:%s"}]}`, kwok, sumOf(script)),
	}
	for _, program := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet", "kube-proxy"} {
		at := fmt.Sprintf("/kubernetes/v1.37.2/bin/linux/%s/%s", runtime.GOARCH, program)
		files[at], files[at+".sha256"] = script+"#"+program, sumOf(script+"#"+program)
	}
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	t.Setenv(kubernetesReleases, server.URL+"/kubernetes")
	t.Setenv(etcdReleases, server.URL+"/etcd/")
	t.Setenv(kwokReleases, server.URL+"/kwok")
	t.Setenv(kwokChecksums, server.URL+"/api")
	t.Setenv("PATH", "") // a machine's own programs may have the version

	clone, err := Repository()
	if err != nil {
		t.Fatal(err)
	}
	r, err := controlPlane(filepath.Join(clone, "test", "controlplane"))
	if err != nil {
		t.Fatal(err)
	}
	r.downloads = newDownloads()
	bin := filepath.Join(t.TempDir(), "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	left, err := r.download(t.Context(), bin, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0].stdout != StagesFile {
		t.Errorf("these steps are left: %v", left)
	}
	for _, program := range append(r.steps[0].links, "kwok") {
		if out, err := exec.CommandContext(t.Context(), filepath.Join(bin, program)).Output(); err != nil || string(out) != "released\n" {
			t.Errorf("%s says %q, %v", program, out, err)
		}
	}
}

func TestProgressEstimates(t *testing.T) {
	w := &work{left: map[string]int64{"a": 100, "b": 300}, total: 400}
	w.begin("a")
	w.begin("not/listed")
	if got, want := w.progress(time.Minute), "2 packages, 25 %, about 3m0s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAnEstimateIsOfWhatIsntCached also has it leave time for the linker.
func TestAnEstimateIsOfWhatIsntCached(t *testing.T) {
	r := newRecipe(t)
	if err := r.runStep(t.Context(), t.TempDir(), r.steps[0], nil); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(r.module, "cmd", "greeting.go"), "package main\n\nconst greeting = `hello again`\n")
	w, err := r.estimate(t.Context(), r.steps[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, is := w.left["example.com/hello/cmd"]; !is || len(w.left) != 1 {
		t.Errorf("these are to be compiled: %v", w.left)
	}
	w.begin("example.com/hello/cmd")
	if got, want := w.progress(10*time.Minute), "1 packages, 98 %, about 12s left"; got != want {
		t.Errorf("with everything compiled: %q, not %q", got, want)
	}
}

func wantProgram(t *testing.T, r recipe, want, why string) {
	t.Helper()
	var mu sync.Mutex
	var log strings.Builder
	bin, err := r.cached(t.Context(), func(line string) {
		mu.Lock()
		defer mu.Unlock()
		log.WriteString(line + "\n")
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "hello")).CombinedOutput(); err != nil || string(out) != want {
		t.Errorf("the program says %q, %v, want %q; the log:\n%s", out, err, want, log.String())
	}
	if !strings.Contains(log.String(), why) {
		t.Errorf("the log lacks %q:\n%s", why, log.String())
	}
}
