package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// mdbook is where mdBook is; empty if it isn't at hand, and the last words say how to get it.
func (d *demo) mdbook() string {
	for _, name := range []string{filepath.Join(d.repository, "bin", "mdbook"), "mdbook"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// serve has a local mdBook serve what the pods of a view would.
func (d *demo) serve(ctx context.Context) error {
	mdbook := d.mdbook()
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	if err := listener.Close(); err != nil {
		return err
	}
	process, err := d.cluster.Run(ctx, supervise.Process{
		Name: "preview",
		Path: filepath.Join(d.repository, programs, "preview"),
		Args: []string{
			"-view", filepath.Join(d.repository, "examples", "inline", "markdownview.yaml"),
			"-fn", filepath.Join(d.bin, "fn"), "-mdbook", mdbook, "-port", port,
		},
		Env: []string{"TMPDIR=" + d.cluster.Folder()},
	})
	if err != nil {
		return err
	}
	address := "http://127.0.0.1:" + port + "/"
	err = d.until(ctx, "the page", func() string {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err.Error()
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Sprintf("%v; see %s", err, process.LogFile())
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			return fmt.Sprintf("%s answers %s", address, response.Status)
		}
		return ""
	})
	d.book = address
	return err
}

// page says where a book can be read.
func (d *demo) page() string {
	if d.book == "" {
		return "Once make mdbook\nhas fetched mdBook, their book is served on this machine, too."
	}
	return "What those of hello\nwould serve is served on this machine: " + d.book
}
