package function

import (
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// RunOnResourceList reads a ResourceList from in and writes one to out. Results
// stand in the list, and on errOut as text for those who drop them: kustomize
// does, and kpt doesn't. The error is a framework.Results when views are at fault; the list then
// has its items as they came. With any other error nothing is written to out.
//
// It is framework.Execute, but for the annotations that tell which resource is
// which: nothing here changes them, so it has nothing to reconcile, and items that
// no view is concerned with stay as they are.
func RunOnResourceList(fn *Function, in io.Reader, out, errOut io.Writer) error {
	list, writer, err := readResourceList(in)
	if err != nil {
		return err
	}
	areShown := kptShowsResults(list.Items)
	fault := fn.Process(list)
	if !areShown {
		printResults(errOut, list.Results)
	}
	if err := write(writer, list, out); err != nil {
		return err
	}
	return fault
}

// write writes all or nothing.
func write(writer *kio.ByteWriter, list *framework.ResourceList, out io.Writer) error {
	if len(list.Results) > 0 {
		text, err := yaml.Marshal(list.Results)
		if err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
		if writer.Results, err = yaml.Parse(string(text)); err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
	}
	var text chunks
	writer.Writer, writer.FunctionConfig = &text, list.FunctionConfig
	if err := writer.Write(list.Items); err != nil {
		return fmt.Errorf("write the ResourceList: %w", err)
	}
	return text.writeTo(out)
}

func printResults(to io.Writer, results framework.Results) {
	for _, result := range results {
		// Nothing is left to tell it to if standard error is gone.
		_, _ = fmt.Fprintln(to, Line(result))
	}
}

// IsFault reports whether an error was printed as results already.
func IsFault(err error) bool {
	var results framework.Results
	return errors.As(err, &results)
}
