package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
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
	"github.com/zoetrope/markdown-view/test/cluster/clustertest"
)

// TestRun is what a newcomer sees, up to Ctrl-C, with the nodes that can be had here.
func TestRun(t *testing.T) {
	needControlPlane(t)
	program := programOf(t)
	t.Run("on simulated nodes", func(t *testing.T) {
		// Nothing is asked for, and no real node can be had, or one doesn't start, of kind first.
		r := start(t, program, "RUN=", pathWith(t, map[string]string{
			"kind": `case "$1" in create) echo "there is no image"; exit 1;; esac`, "kubectl": "exit 1", "containerd": "exit 1",
		}))
		text := r.awaitReady(t)
		for _, want := range []string{
			"pods run on a node of kind: ", "there is no image", "kind delete cluster --name=", "that doesn't start: kind create cluster",
			"so pods run on simulated nodes: a real one ",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the screen doesn't say %q:\n%s", want, text)
			}
		}
		checkScreen(t, text)
		checkPreview(t, text)
		r.interrupt(t, checkCluster(t, text))
	})
	t.Run("on a real node", func(t *testing.T) {
		if why := impossible(t.Context(), realNode); why != "" {
			t.Skip(why)
		}
		r := start(t, program, "RUN=", pathWith(t, map[string]string{"kind": "exit 1"})) // what is taken by itself without kind
		checkRealPods(t, r, realNode)
	})
	t.Run("on a node of kind", func(t *testing.T) {
		if os.Getenv("RUN") != kindNode {
			t.Skip("RUN=kind has it tried, too, which pulls images")
		}
		before := clustersOfKind(t)
		r := start(t, program, "RUN=") // what is taken by itself
		r.await(t, "pods run on a node of kind: kind and a container engine are here")
		if text := checkRealPods(t, r, kindNode); strings.Contains(text, "that doesn't start") {
			t.Errorf("it doesn't run on kind:\n%s", text)
		}
		if after := clustersOfKind(t); after != before {
			t.Errorf("kind has the clusters %q, and had %q", after, before)
		}
	})
}

// checkRealPods checks all that is shown with real pods, and that a book follows a change.
func checkRealPods(t *testing.T, r *running, kind string) (screen string) {
	t.Helper()
	text := r.awaitReady(t)
	checkScreen(t, text)
	address := bookAt(t, text, `serve their book here:\n(http://\S+)`)
	checkPage(t, address, "Hello", "run-"+kind+".png")
	// kubectl port-forward ends with the pod that it has chosen.
	change := `kubectl patch mdview hello --type=merge --patch='{"spec":{"markdowns":{"hello.md":"# Changed\n"}}}'`
	if out, err := shell(t.Context(), text, change); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	checkPage(t, address, "Changed", "run-"+kind+"-changed.png")
	r.interrupt(t, checkCluster(t, text))
	return text
}

func clustersOfKind(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "kind", "get", "clusters").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestRunSaysWhatRUNMayBe, at once.
func TestRunSaysWhatRUNMayBe(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), programOf(t))
	cmd.Env = append(os.Environ(), "RUN=k3s")
	out, err := cmd.CombinedOutput()
	if want := "run: RUN=k3s: it may be kind, node or simulated, or unset, which takes the first of these that can be had\n"; err == nil || string(out) != want {
		t.Errorf("it says %q, not %q: %v", out, want, err)
	}
}

func needControlPlane(t *testing.T) {
	t.Helper()
	if build.NotNeeded() || os.Getenv("KUBEBUILDER_ASSETS") != "" {
		t.Skip("it runs on the control plane that is built from source")
	}
}

// programOf builds the program.
func programOf(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "run")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// pathWith returns PATH with scripts first, by their names.
func pathWith(t *testing.T, scripts map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return "PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH")
}

// running is the program while it runs.
type running struct {
	process           *os.Process
	temporary, screen string
	ended             chan error
}

// limit is how long a run may take, with all that it may have to compile. Then it is interrupted.
const limit = 20 * time.Minute

func start(t *testing.T, program string, env ...string) *running {
	t.Helper()
	r := &running{temporary: t.TempDir(), screen: filepath.Join(t.TempDir(), "screen"), ended: make(chan error, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(append(os.Environ(), "TMPDIR="+r.temporary, "GOTMPDIR="), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	screen, err := os.Create(r.screen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	cmd.Stdout, cmd.Stderr = screen, screen
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.process = cmd.Process
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.ended <- cmd.Wait()
	}()
	t.Cleanup(func() { // what it has in its folder goes with it
		_ = cmd.Process.Signal(os.Interrupt) // no harm if it has ended
		<-ended
	})
	t.Cleanup(func() { r.logForwarding(t) })
	return r
}

// logForwarding logs, if the test has failed, what kubectl said that connects the book.
func (r *running) logForwarding(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(r.temporary, "*", "logs", "port-forward.log"))
	if err != nil || !t.Failed() {
		return
	}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		t.Logf("%v\n%s", err, text[max(0, len(text)-4000):])
	}
}

// interrupt ends it, as Ctrl-C does, and looks for what is left.
func (r *running) interrupt(t *testing.T, dial func() error) {
	t.Helper()
	if err := dial(); err != nil {
		t.Errorf("the API server: %v", err)
	}
	if err := r.process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-r.ended; err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	if err := dial(); err == nil {
		t.Error("the API server still listens")
	}
	r.wantNothingLeft(t)
}

// wantNothingLeft looks for files and processes of one that has ended.
func (r *running) wantNothingLeft(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(r.temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	wantNoProcessIn(t, r.temporary)
}

func checkScreen(t *testing.T, text string) {
	t.Helper()
	for _, shown := range []string{
		"hello", "db-runbook", // of kubectl get
		"the book's pod is the one of before, and its containers weren't restarted",
		"Healthy",
		"DriftCorrected   markdownview/hello   Deployment viewer-hello",
		"export KUBECONFIG=", "Ctrl-C",
	} {
		if !strings.Contains(text, shown) {
			t.Errorf("%q isn't on the screen:\n%s", shown, text)
		}
	}
	if served := strings.Index(text, "the book of hello is at "); served > strings.Index(text, waiting) {
		t.Errorf("the book waits for what it doesn't need:\n%s", text)
	}
}

// checkPreview reads the book whose address the screen has, if there is an mdBook.
func checkPreview(t *testing.T, text string) {
	t.Helper()
	repository, err := build.Repository()
	if err != nil {
		t.Fatal(err)
	}
	if (&demo{repository: repository}).mdbook() == "" {
		if !strings.Contains(text, fetchIt) {
			t.Errorf("the screen doesn't say how to have a book served:\n%s", text)
		}
		return
	}
	checkPage(t, bookAt(t, text, `served on this machine,\nand follows that file: (http://\S+)`), "Hello", "run.png")
}

// bookAt finds the address of a book on the screen.
func bookAt(t *testing.T, text, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("the screen has no book's address:\n%s", text)
	}
	return found[1]
}

// checkPage waits until a page has a title, and then opens it in a browser.
func checkPage(t *testing.T, address, title, screenshot string) {
	t.Helper()
	clustertest.Eventually(t, 2*time.Minute, clustertest.Often, "the page to have the title "+title, func() string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			return err.Error()
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		page, err := io.ReadAll(response.Body)
		if err != nil || !bytes.Contains(page, []byte("<h1 id=\""+strings.ToLower(title)+"\"")) {
			return fmt.Sprintf("%s answers %v:\n%s", address, err, page)
		}
		return ""
	})
	t.Run(title+" in a browser", func(t *testing.T) {
		reader := browser.Start(t)
		reader.Open(address)
		reader.Shows(title)
		reader.Screenshot(screenshot)
	})
}

// awaitReady returns what is on the screen when everything is up.
func (r *running) awaitReady(t *testing.T) string {
	t.Helper()
	return r.await(t, "Ready: everything is up")
}

// await returns what is on the screen as soon as words are.
func (r *running) await(t *testing.T, words string) string {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if text := r.read(t); strings.Contains(text, words) {
			return text
		}
		select {
		case err := <-r.ended:
			t.Fatalf("it ended without the words %q: %v\n%s", words, err, r.read(t))
		case <-ticker.C:
		}
	}
}

// read returns what is on the screen.
func (r *running) read(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(r.screen)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shell runs a command with what the screen says to export.
func shell(ctx context.Context, text, command string) (string, error) {
	exports := strings.Join(regexp.MustCompile(`(?m)^  export .*$`).FindAllString(text, -1), "\n")
	out, err := exec.CommandContext(ctx, "bash", "-c", exports+"\n"+command).CombinedOutput()
	return string(out), err
}

// checkCluster does what the screen says, and returns how to connect to the API
// server.
func checkCluster(t *testing.T, text string) func() error {
	t.Helper()
	ready, err := shell(t.Context(), text, "kubectl get mdview hello --no-headers")
	if err != nil || !strings.Contains(ready, "Healthy") {
		t.Errorf("kubectl get mdview hello: %v\n%s", err, ready)
	}
	view := func(field string) string {
		t.Helper()
		got, err := shell(t.Context(), text, "kubectl config view --raw --output=jsonpath='{.clusters[0].cluster."+field+"}'")
		if err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		return got
	}
	address := strings.TrimPrefix(view("server"), "https://")
	authority, err := base64.StdEncoding.DecodeString(view("certificate-authority-data"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		t.Fatalf("the cluster's certification authority is %q", authority)
	}
	return func() error {
		// Once the node's network is gone, a gateway may take any connection.
		connection, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", address, &tls.Config{RootCAs: roots})
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
