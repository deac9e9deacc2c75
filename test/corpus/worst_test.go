//go:build linux

package corpus

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// worst are books that take much memory.
var worst = map[string]book{}

// realBooks are those beside the repository, if they are there.
func realBooks(t *testing.T) map[string]book {
	t.Helper()
	all := map[string]book{}
	root := cmp.Or(os.Getenv("MARKDOWN_VIEW_BOOKS"), "../../../shared/books")
	for name, folder := range map[string]string{"the Cluster API book": "cluster-api-book", "mdBook's guide": "mdbook-guide"} {
		if _, err := os.Stat(filepath.Join(root, folder)); err != nil {
			t.Logf("%v: MARKDOWN_VIEW_BOOKS names the folder that holds it", err)
			continue
		}
		made := files{}
		err := filepath.WalkDir(filepath.Join(root, folder, "src"), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() == ".gitignore" {
				return err
			}
			content, err := os.ReadFile(file)
			rel, relErr := filepath.Rel(filepath.Join(root, folder), file)
			made[rel] = string(content)
			return cmp.Or(err, relErr)
		})
		if err != nil {
			t.Fatal(err)
		}
		all[name] = book{Src: "src", Files: made, AnyWarnings: true}
	}
	return all
}
