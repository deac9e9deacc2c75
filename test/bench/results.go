package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// row is one measure. What isn't measured is the zero figure.
type row struct {
	Measure  string `json:"measure"`
	Ours     figure `json:"ours"`
	Baseline figure `json:"baseline,omitzero"`
	// Goal is what ours, or the ratio, is to be; empty if nothing is.
	Goal string `json:"goal,omitempty"`
}

// figure is a number with its unit.
type figure struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Units of figures.
const (
	seconds   = "s"
	perSecond = "/s"
	bytesUnit = "B"
	count     = "count"
)

func duration(d time.Duration) figure { return figure{d.Seconds(), seconds} }

func size(n float64) figure { return figure{n, bytesUnit} }

func number[N int | int64 | float64](n N) figure { return figure{float64(n), count} }

func rate(n int, d time.Duration) figure { return figure{float64(n) / d.Seconds(), perSecond} }

// String writes three digits or more: a machine that is shared has no more to tell.
func (f figure) String() string {
	v := f.Value
	switch {
	case f.Unit == "":
		return ""
	case f.Unit == seconds && v < 1:
		return fmt.Sprintf("%.3g ms", v*1e3)
	case f.Unit == seconds:
		return digits(v) + " s"
	case f.Unit == bytesUnit && v < 1e6:
		return digits(v/1e3) + " kB"
	case f.Unit == bytesUnit:
		return digits(v/1e6) + " MB"
	case f.Unit == perSecond:
		return digits(v) + "/s"
	}
	return digits(v)
}

func digits(v float64) string {
	if v >= 100 || v == float64(int(v)) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func (r row) ratio() string {
	if r.Baseline.Unit != r.Ours.Unit || r.Baseline.Value == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", r.Ours.Value/r.Baseline.Value)
}

// run is what one call of the program measured, and where.
type run struct {
	At      time.Time `json:"at"`
	Commit  string    `json:"commit"`
	Machine string    `json:"machine"`
	Rows    []row     `json:"rows"`
}

// results prints what is measured as it is, and keeps it beside that of earlier runs.
type results struct {
	file    string // none if empty
	table   *tabwriter.Writer
	earlier []run
	run     run
}

// newResults prints the head of a table.
func newResults(out io.Writer, file string) (*results, error) {
	r := &results{file: file, table: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	r.run = run{At: time.Now().UTC().Round(time.Second), Commit: commit(), Machine: machine()}
	content, err := os.ReadFile(file)
	if file != "" && !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(content, &r.earlier); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	fmt.Fprintf(out, "%s, commit %s, on %s\n\n", r.run.At.Format(time.DateTime), r.run.Commit, r.run.Machine)
	fmt.Fprintln(r.table, "measure\tours\tbaseline\tratio\tgoal\tbefore")
	return r, nil
}

func (r *results) add(rows ...row) {
	for _, row := range rows {
		r.run.Rows = append(r.run.Rows, row)
		fmt.Fprintf(r.table, "%s\t%s\t%s\t%s\t%s\t%s\n", row.Measure, row.Ours, row.Baseline, row.ratio(), row.Goal, r.before(row.Measure))
	}
}

// before is what the last run that measured the same came to.
func (r *results) before(measure string) figure {
	for _, run := range slices.Backward(r.earlier) {
		for _, row := range run.Rows {
			if row.Measure == measure {
				return row.Ours
			}
		}
	}
	return figure{}
}

// keep prints and stores what was measured so far: a run that fails has measured
// something, too.
func (r *results) keep() error {
	if err := r.table.Flush(); err != nil || r.file == "" {
		return err
	}
	content, err := json.MarshalIndent(append(r.earlier[:len(r.earlier):len(r.earlier)], r.run), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.file, append(content, '\n'), 0o644)
}

// commit is the one that is measured, with a mark if there are changes beside it.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// machine describes what is measured on, as far as it tells.
func machine() string {
	card := fmt.Sprintf("%d cores", runtime.NumCPU())
	if model := procField("/proc/cpuinfo", "model name"); model != "" {
		card += " of " + model
	}
	if memory := procField("/proc/meminfo", "MemTotal"); memory != "" {
		card += ", memory " + memory
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		card += ", load before " + strings.Fields(string(load))[0]
	}
	return card + ", " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}

// procField returns the value of a line "name: value" of a file; empty if there is none.
func procField(file, name string) string {
	content, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = content.Close() }()
	for lines := bufio.NewScanner(content); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
