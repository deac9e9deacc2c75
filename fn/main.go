// Command fn is the KRM function: it expands MarkdownViews into the ConfigMaps,
// Deployment and Service that serve them. kustomize and kpt hand it a
// ResourceList on standard input; people name files.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/zoetrope/markdown-view/fn/internal/function"
)

// version is set when the program is linked.
var version = "dev"

func main() {
	if err := command().Execute(); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fn [file...]",
		Short: "Expand MarkdownViews into the objects that serve them",
		Long: `Expands MarkdownViews into the ConfigMaps, Deployment and Service that serve
their pages as an mdBook.

With files, prints what the MarkdownViews in them expand to. The files may also
hold the ConfigMaps that a view's contentFrom names. "-" reads standard input.

Without files, reads a ResourceList from standard input and writes one to standard
output, as kustomize and kpt want it. Its functionConfig is one of:

  MarkdownView             that view is expanded (a kustomize generator)
  MarkdownViewTransformer  every MarkdownView among the items is expanded;
                           "mode: Validate" only checks them
  ConfigMap                the same, with the mode under data (kpt)

A directory that a view names is relative to the working directory.`,
		Example: `  fn view.yaml
  fn view.yaml pages-configmap.yaml | kubectl apply --server-side -f -
  kustomize build --enable-alpha-plugins --enable-exec .`,
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              cobra.ArbitraryArgs,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	fn := &function.Function{}
	cmd.Flags().BoolVar(&fn.AllWarnings, "all-warnings", false, "list each warning, even if there are many of a kind")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		// A file of such a name can be called ./help.
		switch {
		case len(files) > 0 && files[0] == "help":
			return cmd.Help()
		case len(files) == 1 && files[0] == "version":
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "fn version %s\n", version)
			return err
		}
		err := run(cmd, fn, files)
		if err != nil && !function.IsFault(err) {
			fmt.Fprintf(cmd.ErrOrStderr(), "error: %s\n", function.Printable(err.Error()))
		}
		return err
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		fmt.Fprintf(cmd.ErrOrStderr(), "error: %v; see fn --help\n", err)
		return err
	})
	return cmd
}

func run(cmd *cobra.Command, fn *function.Function, files []string) error {
	// Root keeps links from leading out of the working directory.
	root, err := os.OpenRoot(".")
	if err != nil {
		return fmt.Errorf("open the working directory: %w", err)
	}
	defer root.Close()
	fn.WorkingDirectory = root.FS()

	if len(files) > 0 {
		return function.RunOnFiles(fn, files, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	if isTerminal(cmd.InOrStdin()) {
		return errors.New("no file is named and no ResourceList comes from standard input; see fn --help")
	}
	return function.RunOnResourceList(fn, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// isTerminal reports whether in is a terminal, or another device that no ResourceList
// comes from.
func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
