package examples

import (
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCommandsInTheDocumentation runs the blocks marked console: those of an
// example in a copy of it, others in the root of the source tree.
func TestCommandsInTheDocumentation(t *testing.T) {
	commands := 0
	for _, p := range pages(t) {
		dir := repository
		if example, ok := strings.CutPrefix(path.Dir(p.path), "examples/"); ok && example != thisDocumentation {
			dir = copyOf(t, example)
		}
		for _, b := range p.blocks("console") {
			t.Run(fmt.Sprintf("%s:%d", p.path, b.line), func(t *testing.T) {
				steps := stepsOf(t, b.text)
				commands += len(steps)
				runSteps(t, dir, steps)
			})
		}
	}
	if commands == 0 {
		t.Error("no command was found in the documentation")
	}
}

// step is a command and what it prints.
type step struct {
	command string
	output  []string // lines; "..." stands for any
}

// stepsOf reads a block: "$ " starts a command, ">" goes on with it.
func stepsOf(t *testing.T, console string) []step {
	t.Helper()
	var steps []step
	for line := range strings.SplitSeq(strings.TrimSuffix(console, "\n"), "\n") {
		last := len(steps) - 1
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{command: command})
		} else if last < 0 {
			t.Fatalf("the block doesn't start with a command: %s", line)
		} else if more, ok := strings.CutPrefix(line, ">"); ok && len(steps[last].output) == 0 {
			steps[last].command += "\n" + strings.TrimPrefix(more, " ")
		} else {
			steps[last].output = append(steps[last].output, line)
		}
	}
	return steps
}

// runSteps runs commands in one shell. One that fails has to be followed by
// "echo $?".
func runSteps(t *testing.T, dir string, steps []step) {
	t.Helper()
	const marker = "\x01"
	var script strings.Builder
	script.WriteString("exec 2>&1\nstatus=0\n")
	for _, s := range steps {
		script.WriteString("(exit $status)\n" + s.command + "\nstatus=$?; printf '" + marker + "%d" + marker + "' $status\n")
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	cmd.Dir = filepath.FromSlash(dir)
	printed := strings.Split(resultOf(t, cmd).stdout, marker)
	for i, s := range steps {
		if 2*i+1 >= len(printed) {
			t.Fatalf("the shell ended before `%s`: %s", s.command, printed)
		}
		output := strings.Split(strings.TrimSuffix(printed[2*i], "\n"), "\n")
		if len(s.output) > 0 && !matches(s.output, output) {
			t.Errorf("`%s` prints (-documented +printed):\n%s", s.command, cmp.Diff(s.output, output))
		}
		status, _ := strconv.Atoi(printed[2*i+1])
		if asked := i+1 < len(steps) && steps[i+1].command == "echo $?"; status != 0 && !asked {
			t.Errorf("`%s` ends with status %d:\n%s", s.command, status, printed[2*i])
		}
	}
}

// matches compares line by line. White space at the end doesn't count: it can't be
// seen in a document.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "..." {
		return matches(want[1:], got) || len(got) > 0 && matches(want, got[1:])
	}
	return len(got) > 0 && strings.TrimRight(want[0], " ") == strings.TrimRight(got[0], " ") && matches(want[1:], got[1:])
}
