package function

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// noise is what no ConfigMap can hold in one piece.
func noise(seed uint64, size int) string {
	content := make([]byte, size)
	random := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = random.Read(content)
	return string(content)
}

// shells are those that the test's machine has: the system's, and that of the default
// viewer image, with nothing on PATH but what the image's warning names.
func shells(t *testing.T) map[string][]string {
	list := map[string][]string{}
	if sh, err := exec.LookPath("sh"); err == nil {
		list["sh"] = []string{sh}
	}
	if busybox, err := exec.LookPath("busybox"); err == nil {
		bin := t.TempDir()
		for _, tool := range []string{"sh", "cp", "cat", "mkdir"} {
			if err := os.Symlink(busybox, filepath.Join(bin, tool)); err != nil {
				t.Fatal(err)
			}
		}
		list["busybox"] = []string{"/usr/bin/env", "PATH=" + bin, "sh"}
	}
	if len(list) == 0 {
		t.Skip("the machine has neither sh nor busybox")
	}
	return list
}

// TestLargeFilesAreAssembled runs the init container's script as the pod does.
func TestLargeFilesAreAssembled(t *testing.T) {
	const mebibyte = 1 << 20
	files := map[string]string{
		"SUMMARY.md":                          "- [A](a.md)\n",
		"a.md":                                "# A\n",
		"sub/just-fits.bin":                   noise(1, mebibyte-4<<10),
		"sub/one-more.bin":                    noise(2, mebibyte-4<<10+1),
		"largest.bin":                         noise(3, 16*mebibyte),
		"-rf":                                 noise(4, 2*mebibyte),
		"- -/-e.js":                           noise(5, 2*mebibyte),
		"it's \"quoted\"; rm * #/ .png":       noise(6, mebibyte),
		"$(touch x) ${HOME} $$ `id`/$1 $$$(X": noise(7, mebibyte),
		"図/障害 対応.svg":                         strings.Repeat("<svg>図</svg>\n", 100_000),
		"deep/er/than/any/other/folder/x.txt": strings.Repeat("line\r\n", 200_000),
	}
	folder := t.TempDir()
	writeTree(t, folder, files)
	got := runIn(t, folder, generatorInput("{contentFrom: [{directory: {path: .}}]}"))
	if got.err != nil {
		t.Fatal(got.err)
	}
	objects := parse(t, got.out)
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			inside := t.TempDir()
			objects.assemble(t, inside, shell...)
			objects.assembled(t, filepath.Join(inside, "book", "src"), files)
		})
	}
}

// assembled checks that a folder holds files, and nothing else.
func (o objects) assembled(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	got := readTree(t, folder)
	for name, want := range files {
		if !bytes.Equal([]byte(got[name]), []byte(want)) {
			t.Errorf("%s isn't the same: %d bytes of %d", name, len(got[name]), len(want))
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("there is also %s", name)
	}
}

func TestALargeSummaryAndNothingElse(t *testing.T) {
	files := map[string]string{
		"SUMMARY.md": "- [A](a.md)\n" + strings.Repeat("<!-- "+strings.Repeat("x", 1000)+" -->\n", 1100),
		"a.md":       strings.Repeat("text\n", 300_000),
	}
	folder := t.TempDir()
	writeTree(t, folder, files)
	got := runIn(t, folder, generatorInput("{contentFrom: [{directory: {path: .}}]}"))
	if got.err != nil {
		t.Fatal(got.err)
	}
	inside := t.TempDir()
	parsed := parse(t, got.out)
	parsed.assemble(t, inside)
	parsed.assembled(t, filepath.Join(inside, "book", "src"), files)
}
