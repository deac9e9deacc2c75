//go:build linux

package corpus

// includes are books by what their pages take in.
var includes = map[string]book{
	"lines and anchors": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [Start](start.md)\n",
		"docs/start.md": "# Start\n\n```rust\n{{#include code.rs}}\n```\n\n```rust\n{{#include code.rs:2}}\n```\n\n```rust\n{{#include code.rs:2:3}}\n```\n\n```rust\n{{#include code.rs::2}}\n```\n\n" +
			"```rust\n{{#include code.rs:3:}}\n```\n\n```rust\n{{#include code.rs:part}}\n```\n\n```rust\n{{#rustdoc_include code.rs:part}}\n```\n\n```rust\n{{#rustdoc_include code.rs:2:3}}\n```\n\n{{#playground code.rs editable}}\n\n{{#title Another title}}\n",
		"docs/code.rs": "fn main() {\n    let a = 1;\n    // ANCHOR: part\n    let b = 2;\n    // ANCHOR_END: part\n    println!(\"{}\", a + b);\n}\n",
	}},
	"nested in each other": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [Start](a/start.md)\n", "docs/a/start.md": "# Start\n\n{{#include ../b/one.md}}\n",
		"docs/b/one.md": "One.\n\n{{#include c/two.md}}\n", "docs/b/c/two.md": "Two.\n\n{{#include ../../three.txt}}\n", "docs/three.txt": "Three.\n",
	}},
	"from beside the source folder": {Files: files{
		"book.toml":      "[book]\ntitle = \"Beside\"\n",
		"src/SUMMARY.md": "- [Start](start.md)\n- [Deep](d/e/deep.md)\n", "src/start.md": "# Start\n\n{{#include ../README.md}}\n\n```go\n{{#include ../cmd/main.go:3:}}\n```\n\n```toml\n{{#include ../book.toml}}\n```\n",
		"src/d/e/deep.md": "{{#include ../../../cmd/main.go:1}}\n", "README.md": "Read me, {{#include ./cmd/note.txt}}\n", "cmd/main.go": "package main\n\nfunc main() {}\n", "cmd/note.txt": "note",
	}},
	"from beside the project": {Folder: "guide", Files: files{
		"guide/book.toml":      "[book]\ntitle = \"Beside\"\n",
		"guide/src/SUMMARY.md": "- [Start](start.md)\n- [Changes](changes.md)\n",
		"guide/src/start.md":   "# Start\n\n```yaml\n{{#include ../../examples/a/view.yaml}}\n```\n", "guide/src/changes.md": "{{#include ../../CHANGELOG.md}}\n",
		"CHANGELOG.md": "# Changelog\n\n{{#include docs/more.md}}\n", "docs/more.md": "More.\n", "examples/a/view.yaml": "kind: A\n", "secret.txt": "not a page\n",
	}},
	"through a folder that isn't mounted": {Files: files{
		"book.toml":      "[output.html]\nadditional-css = [\"assets/../css/x.css\"]\n",
		"src/SUMMARY.md": "- [Start](start.md)\n", "src/start.md": "# Start\n\n{{#include ../assets/../css/note.txt}}\n",
		"css/x.css": "p { margin: 0 }\n", "css/note.txt": "note\n", "assets/logo.psd": "x",
	}},
	"a file that is missing": {Src: "docs", Warns: []string{"gone.txt"}, Files: files{
		"docs/SUMMARY.md": "- [Start](start.md)\n", "docs/start.md": "# Start\n\n{{#include gone.txt}}\n\nafter\n",
	}},
	"an anchor that is missing": {Src: "docs", Warns: []string{"has no anchor nope"}, Lives: "mdBook includes nothing", Files: files{
		"docs/SUMMARY.md": "- [Start](start.md)\n", "docs/start.md": "# Start\n\n{{#include code.txt:nope}}\n\nafter\n", "docs/code.txt": "one\ntwo\n",
	}},
	"itself": {Src: "docs", Warns: []string{"does the file include itself?"}, Files: files{
		"docs/SUMMARY.md": "- [Start](start.md)\n", "docs/start.md": "# Start\n\nx\n\n{{#include start.md}}\n",
	}},
	"escaped, in code and malformed": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [Start](start.md)\n",
		"docs/start.md":   "# Start\n\n\\{{#include x.txt}}\n\n`\\{{#include y.txt}}`\n\n```\n\\{{#include z.txt}} \\{{#title no}}\n```\n\n{{#unknown x}} {{#include}} {{ #include part.txt }} {{#include\npart.txt}} {{#include part.txt\n",
		"docs/part.txt":   "part",
	}},
	"names with spaces and other signs": {Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [Start](start.md)\n", "docs/start.md": "# Start\n\n{{#include ./x//y/../part-1.txt}}\n{{#include 日本.txt}}\n{{#include a%20b.txt}}\n",
		"docs/日本.txt": "日本\n", "docs/a%20b.txt": "percent\n", "docs/x/y/z.txt": "z\n", "docs/x/part-1.txt": "part\n",
	}},
	"without the default preprocessors": {Files: files{
		"book.toml":      "[build]\nuse-default-preprocessors = false\n",
		"src/SUMMARY.md": "- [Start](start.md)\n- [Read](sub/README.md)\n", "src/start.md": "# Start\n\n{{#include ../x.txt}}\n", "src/sub/README.md": "# Read\n", "x.txt": "x\n",
	}},
	"a file on the ignore list": {Files: files{
		"book.toml":      "[book]\ntitle = \"Ignored\"\n",
		"src/SUMMARY.md": "- [Start](start.md)\n", "src/start.md": "# Start\n\n{{#include part.txt}}\n", "src/part.txt": "part\n", ".gitignore": "/book\n",
	}},
	"CHANGELOG.md as a chapter that is a link": {Files: files{
		"book.toml":      "[book]\ntitle = \"Changes\"\n",
		"src/SUMMARY.md": "- [Changes](CHANGELOG.md)\n", "src/CHANGELOG.md": "->../CHANGELOG.md", "CHANGELOG.md": "# Changes\n\n{{#include part.txt}}\n", "src/part.txt": "part\n",
	}},
	"one file twenty times": {Src: "docs", Files: twentyIncludes()},
}

func twentyIncludes() files {
	made := manyPages(20)
	for name := range made {
		if name != "docs/SUMMARY.md" && name != "docs/start.md" {
			made[name] += "\n```yaml\n{{#include ../part.yaml}}\n```\n"
		}
	}
	made["docs/part.yaml"] = yamlText(200)
	return made
}
