package generator

import "testing"

func TestCopiesAreNoShards(t *testing.T) {
	tests := map[string]string{
		"markdowns-docs.last":     "markdowns-docs",
		"markdowns-docs.last.12":  "markdowns-docs.12",
		"markdowns-docs":          "",
		"markdowns-docs.1":        "",
		"markdowns-docs.last.0":   "",
		"markdowns-docs.last.01":  "",
		"markdowns-docs.last.":    "",
		"markdowns-docs.last.old": "",
		"markdowns-docs.lastly":   "",
		"markdowns-docs.last-1":   "",
		"markdowns-docs-2.last":   "",
	}
	for name, want := range tests {
		got, isCopy := CutLast(name, "docs")
		if got != want || isCopy != (want != "") {
			t.Errorf("%s: got %q, %t, want %q", name, got, isCopy, want)
		}
		if isCopy && IsPagesName(name, "docs") {
			t.Errorf("%s is a shard, too", name)
		}
		if want != "" && LastPagesName(want, "docs") != name {
			t.Errorf("the copy of %s is %s, not %s", want, LastPagesName(want, "docs"), name)
		}
	}
}

func TestRevisionKeyOf(t *testing.T) {
	output := mustGenerate(t, newView("docs", map[string]string{"SUMMARY.md": "- [A](a.md)\n", "a.md": "# A\n", "x/logo.svg": "\x00"}))
	for _, configMap := range output.ConfigMaps {
		key := RevisionKeyOf(configMap.Data, configMap.BinaryData)
		if _, there := configMap.Data[key]; !there {
			t.Errorf("%s isn't among the keys %v", key, configMap.Data)
		}
		configMap.Data["a.md"] = "edited"
		if RevisionKeyOf(configMap.Data, configMap.BinaryData) == key {
			t.Error("an edited page has the same key")
		}
	}
}
