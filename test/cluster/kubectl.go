package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Kubectl runs kubectl as the administrator, the one of the cluster's version if the
// cluster was started here. It gets input to read, and returns all that is printed, which
// an error repeats.
func (c *Cluster) Kubectl(ctx context.Context, input string, args ...string) (string, error) {
	program := "kubectl"
	if c.Programs() != "" {
		program = filepath.Join(c.Programs(), program)
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}
