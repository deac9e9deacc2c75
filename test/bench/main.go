// Command bench measures the function and the controller, and prints each figure as a ratio to a
// baseline of the same run: the machines that it runs on are shared, so a time by
// itself says little.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/kyaml/kio"
)

// copyCommand has the program copy standard input through kyaml's reader and
// writer: the baseline of what any function has to do.
const copyCommand = "copy"

// memoryCommand has the program run another one, drop what it writes, and print
// its peak memory in bytes. A process starts with the memory of the one that it was
// forked from, so that one has to be small.
const memoryCommand = "memory"

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == copyCommand:
		exitOn(copyThroughKyaml(os.Stdin, os.Stdout))
		return
	case len(os.Args) == 3 && os.Args[1] == memoryCommand:
		exitOn(printMemory(os.Args[2]))
		return
	}
	b := &bench{}
	flag.StringVar(&b.fn, "fn", "", "the function's program")
	flag.StringVar(&b.kustomize, "kustomize", "", "kustomize's program")
	flag.StringVar(&b.book, "book", "", "the source folder of a large mdBook; the measures of one are left out without it")
	flag.IntVar(&b.views, "views", 1000, "how many views are expanded")
	flag.IntVar(&b.clusterViews, "cluster-views", 1000, "how many views the controller is measured with; 0 leaves it out")
	flag.IntVar(&b.perNamespace, "per-namespace", 500, "how many of them a namespace has at most")
	flag.DurationVar(&b.outage, "outage", 20*time.Second, "how long the controller has no API server")
	flag.StringVar(&b.only, "only", "", "measures of the controller, comma-separated, that aren't left out: "+strings.Join(measureNames(), ", ")+"; all if empty")
	flag.StringVar(&b.profiles, "profiles", "", "a folder that gets profiles of the controller: of its processors until all views are Ready, and of its heap then; none if empty")
	flag.StringVar(&b.resultsFile, "results", "", "a file that keeps the results, to compare with; none if empty")
	flag.IntVar(&b.runs, "runs", 3, "how often each side is run; the fastest counts")
	flag.Parse()
	exitOn(b.run(os.Stdout))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func copyThroughKyaml(in io.Reader, out io.Writer) error {
	list := &kio.ByteReadWriter{Reader: in, Writer: out, KeepReaderAnnotations: true}
	items, err := list.Read()
	if err != nil {
		return err
	}
	return list.Write(items)
}

func printMemory(program string) error {
	cmd := exec.Command(program)
	cmd.Stdin = os.Stdin
	if err := cmd.Run(); err != nil {
		return err
	}
	_, err := fmt.Println(maxRSS(cmd.ProcessState))
	return err
}

// bench is one run of all measures.
type bench struct {
	fn, kustomize, book string
	views, runs         int
	clusterViews        int
	perNamespace        int
	outage              time.Duration
	resultsFile         string
	only, profiles      string

	self, dir string
	results   *results
}

func (b *bench) run(out io.Writer) error {
	measures := []func() error{b.inCluster}
	switch {
	case b.fn != "" && b.kustomize != "":
		measures = []func() error{b.alone, b.patched, b.directory, b.startup, b.inCluster, b.insideKustomize}
	case b.fn != "" || b.kustomize != "":
		return fmt.Errorf("-fn and -kustomize are both required to measure the function: use make bench")
	}
	var err error
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)

	if b.results, err = newResults(out, b.resultsFile); err != nil {
		return err
	}
	for _, measure := range measures {
		if err := errors.Join(measure(), b.results.keep()); err != nil {
			return err
		}
	}
	return nil
}

// command is a program that is measured.
type command struct {
	args  []string
	dir   string
	stdin []byte
}

// usage is what a run of a command and of the programs that it ran took. The time
// is the processors': that of the clock tells more of what else the machine does.
type usage struct {
	time    time.Duration
	written []byte
}

func (c command) run() (usage, error) {
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Dir = c.dir
	cmd.Stdin = bytes.NewReader(c.stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return usage{}, fmt.Errorf("%v: %w\n%s", c.args, err, errOut.String())
	}
	state := cmd.ProcessState
	return usage{time: state.UserTime() + state.SystemTime(), written: out.Bytes()}, nil
}

// compare runs two commands in turn and returns the fastest run of each.
func (b *bench) compare(ours, baseline command) (usage, usage, error) {
	var a, z []usage
	for range b.runs {
		for _, side := range []struct {
			command command
			runs    *[]usage
		}{{ours, &a}, {baseline, &z}} {
			u, err := side.command.run()
			if err != nil {
				return usage{}, usage{}, err
			}
			*side.runs = append(*side.runs, u)
		}
	}
	fastest := func(runs []usage) usage {
		return slices.MinFunc(runs, func(x, y usage) int { return int(x.time - y.time) })
	}
	return fastest(a), fastest(z), nil
}

func (b *bench) report(measure string, ours, baseline usage, goal string) {
	b.results.add(row{measure, duration(ours.time), duration(baseline.time), goal})
}

func (b *bench) path(elements ...string) string {
	return filepath.Join(append([]string{b.dir}, elements...)...)
}

func (b *bench) write(name string, content []byte) error {
	path := b.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
