package directory

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/book"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// tree makes a file system of paths and contents. A content that starts with "-> "
// is the target of a link.
func tree(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for p, content := range files {
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			fsys[p] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
		} else {
			fsys[p] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
		}
	}
	return fsys
}

// texts makes a book's files readable in a difference.
func texts(files map[string][]byte) map[string]string {
	if files == nil {
		return nil
	}
	m := map[string]string{}
	for p, content := range files {
		m[p] = string(content)
	}
	return m
}

type readTest struct {
	files map[string]string
	dir   string
	opts  Options

	pages  map[string]string
	beside map[string]string
	toml   string // "" for none
}

func (test readTest) run(t *testing.T) {
	got, err := Read(tree(test.files), test.dir, test.opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(test.pages, texts(got.Pages)); diff != "" {
		t.Errorf("pages: %s", diff)
	}
	if diff := cmp.Diff(test.beside, texts(got.Files)); diff != "" {
		t.Errorf("files: %s", diff)
	}
	if diff := cmp.Diff(test.toml, string(got.Toml)); diff != "" {
		t.Errorf("book.toml: %s", diff)
	}
}

func TestReadPages(t *testing.T) {
	tests := map[string]readTest{
		"a folder of pages is the source folder": {
			files: map[string]string{"docs/SUMMARY.md": "- [A](a.md)\n", "docs/a.md": "# A\n", "docs/img/a.png": "\x89PNG\x00", "other.md": ""},
			dir:   "docs",
			pages: map[string]string{"SUMMARY.md": "- [A](a.md)\n", "a.md": "# A\n", "img/a.png": "\x89PNG\x00"},
		},
		"the path may be written in other ways": {
			files: map[string]string{"x/docs/a.md": "a"},
			dir:   "./x//docs/../docs/",
			pages: map[string]string{"a.md": "a"},
		},
		"the working directory itself": {
			files: map[string]string{"a.md": "a", "b/c.md": "c"},
			dir:   ".",
			pages: map[string]string{"a.md": "a", "b/c.md": "c"},
		},
		"bytes stay as they are": {
			files: map[string]string{"d/a.md": "\ufeff---\r\nx  \r\n\xff\x00no end", "d/empty.md": ""},
			dir:   "d",
			pages: map[string]string{"a.md": "\ufeff---\r\nx  \r\n\xff\x00no end", "empty.md": ""},
		},
		"names in any language": {
			files: map[string]string{"資料/はじめに.md": "やあ", "資料/a b/ü😀.md": ""},
			dir:   "資料",
			pages: map[string]string{"はじめに.md": "やあ", "a b/ü😀.md": ""},
		},
		"a .gitignore is neither obeyed nor read": {
			files: map[string]string{"d/.gitignore": "a.md\n", "d/a.md": "a", ".gitignore": "d/\n"},
			dir:   "d",
			pages: map[string]string{"a.md": "a"},
		},
		"leftovers and git's data stay behind": {
			files: map[string]string{"d/a.md": "a", "d/a.md~": "", "d/.git/config": "secret", "d/b/.git": "gitdir: x", "d/.idea/x.xml": ""},
			dir:   "d",
			pages: map[string]string{"a.md": "a"},
		},
		"patterns leave out more": {
			files: map[string]string{"d/a.md": "a", "d/drafts/b.md": "b", "d/x/drafts/c.md": "c", "d/notes.txt": "n", "d/keep.txt": "k"},
			dir:   "d",
			opts:  Options{Ignore: "/drafts/\n*.txt\n!keep.txt\n"},
			pages: map[string]string{"a.md": "a", "x/drafts/c.md": "c", "keep.txt": "k"},
		},
		"an ignored book.toml makes no project": {
			files: map[string]string{"d/book.toml": "[book", "d/src/a.md": "a"},
			dir:   "d",
			opts:  Options{Ignore: "/book.toml"},
			pages: map[string]string{"src/a.md": "a"},
		},
		"a book.toml further down makes no project": {
			files: map[string]string{"d/x/book.toml": "[book", "d/a.md": "a"},
			dir:   "d",
			pages: map[string]string{"x/book.toml": "[book", "a.md": "a"},
		},
		"links to files and folders that are there": {
			files: map[string]string{"README.md": "r", "shared/s.md": "s", "d/a.md": "-> ../README.md", "d/b": "-> ../shared", "d/c.md": "-> a.md", "d/e.md": "-> ./b/../d/b/s.md"},
			dir:   "d",
			pages: map[string]string{"a.md": "r", "b/s.md": "s", "c.md": "r", "e.md": "s"},
		},
		"the folder may be a link, and be behind one": {
			files: map[string]string{"x/y/d/a.md": "a", "l": "-> x/y", "m": "-> l/d"},
			dir:   "./m",
			pages: map[string]string{"a.md": "a"},
		},
		"two links to one folder are no loop": {
			files: map[string]string{"s/a.md": "a", "d/x": "-> ../s", "d/y": "-> ../s", "d/z": "-> x"},
			dir:   "d",
			pages: map[string]string{"x/a.md": "a", "y/a.md": "a", "z/a.md": "a"},
		},
		"ignored links are not followed": {
			files: map[string]string{"d/a.md": "a", "d/out": "-> ../../x", "d/gone": "-> nowhere", "d/self": "-> self", "d/up": "-> .."},
			dir:   "d",
			opts:  Options{Ignore: "/out/\ngone\nself\nup/"},
			pages: map[string]string{"a.md": "a"},
		},
		"an empty folder is an empty book": {
			files: map[string]string{"d/.git/x": ""},
			dir:   "d",
			pages: map[string]string{},
		},
	}
	for name, test := range tests {
		t.Run(name, test.run)
	}
}

type errorTest struct {
	files map[string]string
	odd   map[string]fs.FileMode // kinds of files that tree doesn't make
	dir   string
	opts  Options
	want  string
}

// told is a line for each fault of a folder.
func told(err error) string {
	faults := diagnostic.FromError(err)
	for i := range faults {
		if faults[i].Field == pathField {
			faults[i].Field = ""
		}
	}
	return faults.Err().Error()
}

func (test errorTest) run(t *testing.T) {
	fsys := tree(test.files)
	for p, mode := range test.odd {
		fsys[p] = &fstest.MapFile{Mode: mode}
	}
	got, err := Read(fsys, test.dir, test.opts)
	if err == nil {
		t.Fatalf("no error, but %v", got)
	}
	if diff := cmp.Diff(test.want, told(err)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(book.Book{}, got); diff != "" {
		t.Errorf("half a book: %s", diff)
	}
}

func TestReadErrors(t *testing.T) {
	tests := map[string]errorTest{
		"no name": {
			want: `"": must name a folder, such as ./docs`,
		},
		"an absolute path": {
			dir:  "/srv/docs",
			want: `/srv/docs: must be relative to the working directory: drop the leading "/"`,
		},
		"a path that leads out": {
			dir:  "../docs",
			want: "../docs: leads out of the working directory: only folders below it can be read",
		},
		"a path that leads out in a roundabout way": {
			dir:  "./a/../../docs",
			want: "./a/../../docs: leads out of the working directory: only folders below it can be read",
		},
		"a path with another base": {
			dir:  "./docs",
			opts: Options{Base: "the artifact"},
			want: "./docs: no such folder in the artifact: add it, or write its path from there",
		},
		"a path of another system": {
			dir:  `docs\guide`,
			want: `docs\guide: must not contain a backslash: use "/" between folders`,
		},
		"a path that can't be printed": {
			dir:  "docs\n\xff",
			want: `docs\n\xff: must be UTF-8 without NUL`,
		},
		"a folder that is missing": {
			files: map[string]string{"a.md": ""},
			dir:   "./docs/",
			want:  "./docs: no such folder in the working directory: add it, or write its path from there",
		},
		"a file": {
			files: map[string]string{"docs/a.md": ""},
			dir:   "./docs/a.md",
			want:  "./docs/a.md: is a file, not a folder: name the folder that it is in",
		},
		"a path through a file": {
			files: map[string]string{"docs/a.md": ""},
			dir:   "docs/a.md/b",
			want:  "docs/a.md/b: goes through a file, not a folder: name another path",
		},
		"git's own data": {
			files: map[string]string{".git/hooks/a": ""},
			dir:   ".git/hooks",
			want:  ".git/hooks: is git's own data, which is never read: name another path",
		},
		"a link that leads out": {
			files: map[string]string{"d/a.md": "", "d/b/c.md": "-> ../../../etc/passwd"},
			dir:   "./d",
			want:  `./d/b/c.md: the link d/b/c.md to "../../../etc/passwd" leads out of the working directory: put the files themselves there, or ignore the link`,
		},
		"an absolute link": {
			files: map[string]string{"d/etc": "-> /etc"},
			dir:   "d",
			want:  `d/etc: the link d/etc to "/etc" leads out of the working directory: put the files themselves there, or ignore the link`,
		},
		"a link that another link is behind": {
			files: map[string]string{"d/a": "-> ../b/c", "b": "-> .."},
			dir:   "d",
			want:  `d/a: the link b to ".." leads out of the working directory: put the files themselves there, or ignore the link`,
		},
		"a link that leads out after another link": {
			files: map[string]string{"s/x/a.md": "", "d/b": "-> ../s/x", "d/c": "-> ./b/../../../a"},
			dir:   "d",
			want:  `d/c: the link d/c to "./b/../../../a" leads out of the working directory: put the files themselves there, or ignore the link`,
		},
		"a link to nowhere": {
			files: map[string]string{"d/a.md": "-> b.md"},
			dir:   "d",
			want:  `d/a.md: the link d/a.md to "b.md" leads nowhere: put the files themselves there, or ignore the link`,
		},
		"a link into git's data": {
			files: map[string]string{"d/c.md": "-> ../.git/config", ".git/config": "secret"},
			dir:   "d",
			want:  `d/c.md: the link d/c.md to "../.git/config" leads into git's own data, which is never read: put the files themselves there, or ignore the link`,
		},
		"links to each other": {
			files: map[string]string{"d/a.md": "-> b.md", "d/b.md": "-> ./a.md"},
			dir:   "d",
			want: `d/a.md: the link d/a.md to "b.md" leads back to itself: put the files themselves there, or ignore the link
d/b.md: the link d/b.md to "./a.md" leads back to itself: put the files themselves there, or ignore the link`,
		},
		"a link to the folder that it is in": {
			files: map[string]string{"d/x/a.md": "", "d/x/up": "-> ."},
			dir:   "d",
			want:  "d/x/up: is a link to a folder that it is in itself: remove the link, or ignore it",
		},
		"a link to a folder above the one that is read": {
			files: map[string]string{"w/d/x/up": "-> ../../.."},
			dir:   "w/d",
			want:  "w/d/x/up: is a link to a folder that it is in itself: remove the link, or ignore it",
		},
		"a loop through another folder": {
			files: map[string]string{"d/other": "-> ../e", "e/back": "-> ../d"},
			dir:   "d",
			want:  "d/other/back: is a link to a folder that it is in itself: remove the link, or ignore it",
		},
		"a folder behind a link that leads out": {
			files: map[string]string{"d": "-> ../d"},
			dir:   "./d/x",
			want:  `./d/x: the link d to "../d" leads out of the working directory: put the files themselves there, or ignore the link`,
		},
		"a folder missing behind a good link": {
			files: map[string]string{"d": "-> e", "e/a.md": ""},
			dir:   "d/x",
			want:  "d/x: no such folder in the working directory: add it, or write its path from there",
		},
		"files that are none": {
			odd: map[string]fs.FileMode{"d/pipe": fs.ModeNamedPipe, "d/socket": fs.ModeSocket, "d/null": fs.ModeDevice | fs.ModeCharDevice},
			dir: "d",
			want: `d/null: is a device or other special file, neither a file nor a folder: remove it, or ignore it
d/pipe: is a named pipe, neither a file nor a folder: remove it, or ignore it
d/socket: is a socket, neither a file nor a folder: remove it, or ignore it`,
		},
		"a link to a file that is none": {
			files: map[string]string{"d/a.md": "-> ../pipe"},
			odd:   map[string]fs.FileMode{"pipe": fs.ModeNamedPipe},
			dir:   "d",
			want:  "d/a.md: is a named pipe, neither a file nor a folder: remove it, or ignore it",
		},
		"names that no page can have": {
			files: map[string]string{`d/a\b.md`: "", "d/bell\a.md": "", "d/" + strings.Repeat("x", 241): ""},
			dir:   "d",
			want: `d/a\b.md: the path must not contain a backslash: use "/" between folders
d/bell\a.md: the path must not contain control or invisible formatting characters: rename the file
d/` + strings.Repeat("x", 241) + `: the path each file or folder name must have at most 240 bytes, "xxxxxxxxxxxxxxxx"… has 241: shorten it`,
		},
		"a pattern that can't be read": {
			dir:  "d",
			opts: Options{Ignore: "a\n[b"},
			want: `ignore: line 2: the pattern "[b": brackets or a backslash without their end: close them, or write \ before each that is meant as it is`,
		},
	}
	for name, test := range tests {
		t.Run(name, test.run)
	}
}
