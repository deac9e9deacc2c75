package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zoetrope/markdown-view/test/viewer"
)

// TestAnIndexListsBooks runs the commands of docs/exposing.md.
func TestAnIndexListsBooks(t *testing.T) {
	f := newFixture(t)
	f.needsGateway()
	f.installGatewayAPI()
	routes := f.exposing("Gateway API")
	f.kubectlWith(routes, "apply", "--server-side", "-f", "-")
	for _, route := range []string{"handbook", "handbook-host"} {
		f.kubectl("label", "httproute", route, "docs.example.test/index=true")
	}
	commands := documented(t, "exposing.md", "An index of books", "```sh")[0]
	script := exec.CommandContext(f.Context(), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(commands, "--namespace docs", "--namespace "+f.namespace))
	script.Dir = f.TempDir()
	script.Env = append(os.Environ(), "KUBECONFIG="+shared.Kubeconfig, "PATH="+shared.Programs()+":"+os.Getenv("PATH"))
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.kubectlWith(f.exposing("An index of books"), "apply", "-f", "-")
	f.Ready("index")
	site := viewer.NewSite(f, shared, f.namespace, "index")
	for _, link := range []string{"https://docs.example.test/handbook/", "https://handbook.example.test/"} {
		site.Shows("/books.html", `href="`+link+`"`)
	}
	if page := site.Page("/books.html"); strings.Contains(page, "test/guide/") {
		t.Error("a route without the label is listed")
	}
}
