// Command preview is `make preview`: it serves a view's book on this machine, as its pods
// would, until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/zoetrope/markdown-view/test/preview"
)

func main() {
	var options preview.Options
	flag.StringVar(&options.Path, "view", "", "the file that the MarkdownView is in, or the folder of a kustomization")
	flag.StringVar(&options.From, "from", "", "the folder in which the paths of a view in a file begin; by default that of the file")
	flag.StringVar(&options.Name, "name", "", "the MarkdownView's name, if there are several")
	flag.StringVar(&options.Function, "fn", "fn", "the function's program")
	flag.StringVar(&options.Kustomize, "kustomize", "kustomize", "kustomize's program")
	flag.StringVar(&options.MDBook, "mdbook", "mdbook", "mdBook's program")
	port := flag.String("port", "3000", "where the book is served, on the loopback address")
	flag.Parse()
	if err := run(options, *port); err != nil {
		fmt.Fprintln(os.Stderr, "preview:", err)
		os.Exit(1)
	}
}

func run(options preview.Options, port string) (err error) {
	if options.Path == "" {
		return errors.New("say which view to serve: make preview VIEW=examples/inline/markdownview.yaml")
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("PORT=%s: say a number up to 65535: make preview VIEW=%s PORT=3000", port, options.Path)
	}
	options.Port = int(number)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if options.Folder, err = os.MkdirTemp("", "preview-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(options.Folder)) }()
	options.Log = os.Stderr
	options.Ready = func(view, url string) {
		fmt.Printf("\nThe book of %s is at %s until Ctrl-C; save a page to see it change.\n\n", view, url)
	}
	if err := preview.Serve(ctx, options); ctx.Err() == nil {
		return err
	}
	return nil
}
