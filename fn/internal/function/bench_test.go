package function

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/kio"
)

// BenchmarkInlineViews expands 1,000 views of 2 KB. What kyaml takes for reading
// and writing the output is what it is measured against: at most twice that.
func BenchmarkInlineViews(b *testing.B) {
	var input strings.Builder
	input.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: settings}\nitems:\n")
	for i := range 1000 {
		fmt.Fprintf(&input, "- apiVersion: view.zoetrope.github.io/v1\n  kind: MarkdownView\n  metadata:\n    name: view-%d\n    namespace: docs\n"+
			"  spec:\n    markdowns:\n      SUMMARY.md: |\n        # Summary\n\n        - [Start](start.md)\n      start.md: |\n        # Start\n\n", i)
		for line := range 25 {
			fmt.Fprintf(&input, "        Line %d of view %d says as much as lines of a guide usually do.\n", line, i)
		}
	}
	benchmarkAgainstCopy(b, b.TempDir(), input.String())
}

// BenchmarkDirectory expands a real book of 5 MB.
func BenchmarkDirectory(b *testing.B) {
	benchmarkAgainstCopy(b, filepath.Join(books(b), "cluster-api-book"), generatorInput("{contentFrom: [{directory: {path: src}}]}"))
}

func benchmarkAgainstCopy(b *testing.B, dir, input string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = root.Close() })
	fn := &Function{WorkingDirectory: root.FS()}
	expand := func(out io.Writer) {
		if err := RunOnResourceList(fn, strings.NewReader(input), out, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	var output bytes.Buffer
	expand(&output)

	b.Run("function", func(b *testing.B) {
		b.SetBytes(int64(output.Len()))
		b.ReportAllocs()
		for b.Loop() {
			expand(io.Discard)
		}
	})
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(output.Len()))
		b.ReportAllocs()
		for b.Loop() {
			list := &kio.ByteReadWriter{Reader: bytes.NewReader(output.Bytes()), Writer: io.Discard, KeepReaderAnnotations: true}
			items, err := list.Read()
			if err != nil {
				b.Fatal(err)
			}
			if err := list.Write(items); err != nil {
				b.Fatal(err)
			}
		}
	})
}
