package viewerimage

import (
	"os"
	"strings"
	"testing"

	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/generator/mdbook"
)

// TestTheImageIsOfTheVersionThatIsTested, and has what the init container of large files runs.
func TestTheImageIsOfTheVersionThatIsTested(t *testing.T) {
	content, err := os.ReadFile("../../../tools/viewer/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	tools := strings.NewReplacer(",", "", " and", "").Replace(generator.AssemblyTools)
	for _, want := range []string{
		" mdbook@" + mdbook.Version + " ", `description="mdBook ` + mdbook.Version + " with ", "for tool in " + tools + ";",
	} {
		if !strings.Contains(string(content), want) {
			t.Errorf("tools/viewer/Dockerfile has no %q", want)
		}
	}
}
