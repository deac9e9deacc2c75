//go:build linux

package corpus

// sources are books by where the view's pages come from.
var sources = map[string]book{
	"pages in the view": {
		Spec:    "markdowns:\n  SUMMARY.md: |\n    - [Start](start.md)\n  start.md: |\n    # Start\n\n    Text\n",
		Project: files{"src/SUMMARY.md": "- [Start](start.md)\n", "src/start.md": "# Start\n\nText\n"},
	},
	"nested pages in the view": {
		Spec:    "markdowns:\n  SUMMARY.md: \"- [Start](a/日本.md)\\r\\n- [B](b c.md)\\n\"\n  a/日本.md: \"# Start\\n\\nhard  \\nbreak\"\n  b c.md: ''\n",
		Project: files{"src/SUMMARY.md": "- [Start](a/日本.md)\r\n- [B](b c.md)\n", "src/a/日本.md": "# Start\n\nhard  \nbreak", "src/b c.md": ""},
		Refused: "SUMMARY.md:2",
	},
	"a folder, a ConfigMap and the view together": {
		Spec:    "contentFrom:\n- directory: {path: docs}\n- configMapRef: {name: pages}\n- configMapRef: {name: gone, optional: true}\nmarkdowns:\n  c.md: \"# from the view\\n\"\n",
		Others:  "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: pages}\ndata:\n  b.md: \"# from the ConfigMap\\n\"\n  c.md: \"# not this one\\n\"\nbinaryData:\n  pic.png: iVBORw0KGgo=\n",
		Files:   files{"docs/SUMMARY.md": "- [a](a.md)\n- [b](b.md)\n- [c](c.md)\n", "docs/a.md": "# from the folder\n\n![](pic.png)\n", "docs/b.md": "# not this one\n", "docs/sub/x.txt": "x"},
		Project: files{"src/SUMMARY.md": "- [a](a.md)\n- [b](b.md)\n- [c](c.md)\n", "src/a.md": "# from the folder\n\n![](pic.png)\n", "src/b.md": "# from the ConfigMap\n", "src/c.md": "# from the view\n", "src/sub/x.txt": "x", "src/pic.png": "\x89PNG\r\n\x1a\n"},
	},
	"two folders, the later of which wins": {
		Spec:    "contentFrom:\n- directory: {path: common}\n- directory: {path: team}\n",
		Files:   files{"common/SUMMARY.md": "- [a](a.md)\n", "common/a.md": "# a\n", "common/logo.svg": "<svg/>\n", "team/SUMMARY.md": "- [a](a.md)\n- [b](b/b.md)\n", "team/b/b.md": "# b\n", "team/logo.svg": "<svg id=\"team\"/>\n"},
		Project: files{"src/a.md": "# a\n", "src/SUMMARY.md": "- [a](a.md)\n- [b](b/b.md)\n", "src/b/b.md": "# b\n", "src/logo.svg": "<svg id=\"team\"/>\n"},
	},
	"a project and a page in the view": {
		Spec:    "contentFrom: [{directory: {path: .}}]\nmarkdowns:\n  status.md: \"# Status\\n\"\n",
		Files:   files{"book.toml": "[book]\nsrc = \"docs\"\n", "docs/SUMMARY.md": "- [a](a.md)\n- [s](status.md)\n", "docs/a.md": "# a\n", "theme/head.hbs": "<!-- head -->\n"},
		Project: files{"book.toml": "[book]\nsrc = \"docs\"\n", "docs/SUMMARY.md": "- [a](a.md)\n- [s](status.md)\n", "docs/a.md": "# a\n", "docs/status.md": "# Status\n", "theme/head.hbs": "<!-- head -->\n"},
	},
	"a page of a link outside of the folder": {Spec: "contentFrom: [{directory: {path: docs}}]", Src: "docs", Files: files{
		"docs/SUMMARY.md": "- [a](a.md)\n- [r](README.md)\n", "docs/a.md": "# a\n", "docs/README.md": "->../README.md", "README.md": "# Read me\n",
	}},
}
