package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zoetrope/markdown-view/test/browser"
	"github.com/zoetrope/markdown-view/test/cluster/build"
)

// TestRun is what a newcomer sees, up to Ctrl-C.
func TestRun(t *testing.T) {
	if build.NotNeeded() || os.Getenv("KUBEBUILDER_ASSETS") != "" {
		t.Skip("it runs on the control plane that is built from source")
	}
	program := filepath.Join(t.TempDir(), "run")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	temporary := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	screen, err := os.Create(filepath.Join(t.TempDir(), "screen"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = screen.Close() }()
	cmd.Stdout, cmd.Stderr = screen, screen
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Signal(os.Interrupt) }() // no harm if it has ended

	text := awaitReady(t, screen.Name(), ended)
	for _, shown := range []string{
		"hello", "db-runbook", // of kubectl get
		"Healthy",
		"DriftCorrected   markdownview/hello   Deployment viewer-hello",
		"export KUBECONFIG=", "Ctrl-C",
	} {
		if !strings.Contains(text, shown) {
			t.Errorf("%q isn't on the screen:\n%s", shown, text)
		}
	}
	checkPage(t, text)
	dial := checkCluster(t, text)

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	if err := dial(); err == nil {
		t.Error("the API server still listens")
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	wantNoProcessIn(t, temporary)
}

// checkPage reads the book whose address the screen has, if there is an mdBook.
func checkPage(t *testing.T, text string) {
	t.Helper()
	repository, err := build.Repository()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(repository, "bin", "mdbook")); err != nil {
		if !strings.Contains(text, "Once make mdbook\n") {
			t.Errorf("the screen doesn't say how to have a book served:\n%s", text)
		}
		return
	}
	address := regexp.MustCompile(`served on this machine: (http://\S+)`).FindStringSubmatch(text)
	if address == nil {
		t.Fatalf("the screen has no book's address:\n%s", text)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	if err != nil || !bytes.Contains(page, []byte("<title>Hello")) {
		t.Errorf("%s answers %v:\n%s", address[1], err, page)
	}
	t.Run("in a browser", func(t *testing.T) {
		reader := browser.Start(t)
		reader.Open(address[1])
		reader.Shows("Hello")
		reader.Screenshot("run.png")
	})
}

// awaitReady returns what is on the screen when everything is up.
func awaitReady(t *testing.T, screen string, ended <-chan error) string {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(10 * time.Minute)
	for {
		text, err := os.ReadFile(screen)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("Ready: everything is up")) {
			return string(text)
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended before it was ready: %v\n%s", err, text)
		case <-limit:
			t.Fatalf("it didn't get ready:\n%s", text)
		case <-ticker.C:
		}
	}
}

// checkCluster does what the screen says, and returns how to connect to the API
// server.
func checkCluster(t *testing.T, text string) func() error {
	t.Helper()
	exports := strings.Join(regexp.MustCompile(`(?m)^  export .*$`).FindAllString(text, -1), "\n")
	kubectl := func(ctx context.Context, args string) (string, error) {
		out, err := exec.CommandContext(ctx, "bash", "-c", exports+"\nkubectl "+args).CombinedOutput()
		return string(out), err
	}
	ready, err := kubectl(t.Context(), "get mdview hello --no-headers")
	if err != nil || !strings.Contains(ready, "Healthy") {
		t.Errorf("kubectl get mdview hello: %v\n%s", err, ready)
	}
	host, err := kubectl(t.Context(), "config view --output=jsonpath='{.clusters[0].cluster.server}'")
	if err != nil {
		t.Fatalf("%v\n%s", err, host)
	}
	address := strings.TrimPrefix(host, "https://")
	return func() error {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = connection.Close()
		}
		return err
	}
}

// wantNoProcessIn looks for processes that were started for a folder, where the
// system tells.
func wantNoProcessIn(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Contains(line, []byte(folder)) {
			t.Errorf("a process is left: %s", bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
		}
	}
}
