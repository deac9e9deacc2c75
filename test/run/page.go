package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/zoetrope/markdown-view/test/cluster/build"
	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// book is one that is served; the zero book if none is.
type book struct {
	address string
	log     string // of the program that serves it
}

// mdbook is where mdBook is; empty if it isn't at hand, and the last words say how to get it.
func (d *demo) mdbook() string {
	for _, name := range []string{filepath.Join(d.repository, "bin", "mdbook"), "mdbook"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// freePort returns a port of the loopback address that nothing listens on.
func freePort(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	return port, listener.Close()
}

// buildPreview builds what serves a view's book without pods.
const buildPreview = "CGO_ENABLED=0 go -C test build '" + build.Quickly + "' -ldflags '-s -w' -o ../" + productPrograms + "/ ./preview/cmd/preview"

// serve has a local mdBook serve what the pods of a view would.
func (d *demo) serve(ctx context.Context) error {
	if err := d.shell(ctx, buildPreview); err != nil { // it wasn't needed if there was to be a real node
		return err
	}
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	process, err := d.cluster.Run(ctx, supervise.Process{
		Name: "preview",
		Path: filepath.Join(d.repository, productPrograms, "preview"),
		Args: []string{
			"-view", filepath.Join(d.repository, "examples", "inline", "markdownview.yaml"),
			"-fn", filepath.Join(d.bin, "fn"), "-mdbook", d.mdbook(), "-port", port,
		},
		Env: []string{"TMPDIR=" + d.cluster.Folder()},
	})
	if err != nil {
		return err
	}
	d.book = book{"http://127.0.0.1:" + port + "/", process.LogFile()}
	return d.announce(ctx)
}

// forward has kubectl connect a port of this machine to the pods of a view. kubectl ends with
// the pod that it has chosen, so it is started again as long as this runs.
func (d *demo) forward(ctx context.Context) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	command := "kubectl port-forward service/viewer-hello " + port + ":80"
	fmt.Println("  $ " + command + " &")
	log, err := os.Create(filepath.Join(d.cluster.Folder(), "logs", "port-forward.log"))
	if err != nil {
		return err
	}
	forwarding, stop := context.WithCancel(context.WithoutCancel(ctx)) // it outlives the step
	ended := make(chan struct{})
	d.ending = append(d.ending, func() {
		stop()
		<-ended
	})
	d.book = book{"http://127.0.0.1:" + port + "/", log.Name()}
	address := d.book.address
	go func() {
		defer close(ended)
		defer func() { _ = log.Close() }()
		for forwarding.Err() == nil {
			d.connect(forwarding, "exec "+command, address, maxSilence, log)
			select {
			case <-forwarding.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	return d.announce(ctx)
}

// maxSilence is how long nobody may answer at an address before who connects it is started
// again.
const maxSilence = 15 * time.Second

// connect runs a command until it ends, or nobody has answered at its address for a while:
// kubectl may go on listening when its connection to the node is lost.
func (d *demo) connect(ctx context.Context, command, address string, silence time.Duration, log io.Writer) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		client := &http.Client{Timeout: silence}
		for answered := time.Now(); ctx.Err() == nil && time.Since(answered) < silence; {
			if problem := get(ctx, client, address); problem == "" {
				answered = time.Now()
			}
			select {
			case <-ctx.Done():
			case <-time.After(silence / 10):
			}
		}
	}()
	connecting := d.command(ctx, command)
	connecting.Stdout, connecting.Stderr = log, log
	_ = connecting.Run() // its log says why
}

// get asks for a page and says what is wrong, "" if nothing is.
func get(ctx context.Context, client *http.Client, address string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err.Error()
	}
	response, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Sprintf("%s answers %s", address, response.Status)
	}
	return ""
}

// announce says where the book is served, once a page is there.
func (d *demo) announce(ctx context.Context) error {
	if err := d.answers(ctx); err != nil {
		return err
	}
	fmt.Println("  the book of hello is at " + d.book.address)
	return nil
}

// answers waits until a page is where the book is served.
func (d *demo) answers(ctx context.Context) error {
	return d.until(ctx, "the page", func(ctx context.Context) string {
		if problem := get(ctx, http.DefaultClient, d.book.address); problem != "" {
			return problem + "; see " + d.book.log
		}
		return ""
	})
}

// fetchIt says how to have a book served.
const fetchIt = "After make mdbook,\nwhich fetches mdBook, the next run serves their book on this machine, too."
