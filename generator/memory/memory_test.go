package memory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// counted counts a book of these pages.
func counted(pages ...string) *Counter {
	c := &Counter{}
	for i, page := range pages {
		c.Chapter(0)
		c.Page(slices.Values([]string{fmt.Sprintf("C%d", i)}), []byte(page))
	}
	return c
}

func repeated(n int, text string) []string { return slices.Repeat([]string{text}, n) }

func numbered(n int, text func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(text(i))
	}
	return b.String()
}

// digits makes words of n hexadecimal digits, with blanks between them.
func digits(size, n int) string {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	return numbered(size/(n+1), func(i int) string {
		word := make([]byte, n, n+2)
		for j := range word {
			word[j] = "0123456789abcdef"[r.IntN(16)]
		}
		if i%20 == 19 {
			word = append(word, '\n')
		}
		return string(append(word, ' '))
	})
}

// plain makes paragraphs from a vocabulary of so many words.
func plain(size, vocabulary int) string {
	r := rand.New(rand.NewPCG(2, 3))
	words := make([]string, vocabulary)
	for i := range words {
		word := make([]byte, 2+r.IntN(8))
		for j := range word {
			word[j] = byte('a' + r.IntN(26))
		}
		words[i] = string(word)
	}
	var b strings.Builder
	for b.Len() < size {
		for range 60 {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

// TestEstimatesAreWhatWasMeasured holds the estimate against the most memory that mdBook
// 0.5.4 had, linked with musl as in the default image, or with glibc where that is more.
// The limit is a fifth above the estimate.
func TestEstimatesAreWhatWasMeasured(t *testing.T) {
	const mega = 1_000_000
	tests := map[string]struct {
		book     *Counter
		measured float64 // MiB
		most     float64 // times that the estimate may be above it
	}{
		"one page":                          {counted("# A\n"), 14.1, 1.1},
		"100 kB of text":                    {counted(plain(mega/10, 5000)), 55, 1.3},
		"1 MB of text":                      {counted("# A\n\n" + plain(mega, 5000)), 63, 1.5},
		"the same in 100 pages":             {counted(repeated(100, "# A\n\n"+plain(mega/100, 5000))...), 175, 1.3},
		"1 MB of words of 8 digits":         {counted(digits(mega, 8)), 1323, 1.1},
		"1 MB of words of 32 digits":        {counted(digits(mega, 32)), 2219, 1.1},
		"1 MB of words of 80 digits":        {counted(digits(mega, 80)), 2403, 1.1},
		"2,000 commits":                     {counted("- " + strings.Join(strings.Fields(digits(2000*41, 40)), " fix a thing\n- ")), 207, 1.2},
		"1 MB of one letter":                {counted(strings.Repeat("a ", mega/2)), 43, 1.5},
		"1 MB of emphasis":                  {counted(strings.Repeat("*a*b", mega/4)), 161, 1.3},
		"1 MB of code":                      {counted(strings.Repeat("`a` ", mega/4)), 169, 1.3},
		"1 MB of a table":                   {counted("|a|b|c|d|\n|-|-|-|-|\n" + strings.Repeat("|a|b|c|d|\n", mega/10)), 177, 1.4},
		"1 MB of a table of nothing":        {counted("|a|b|c|d|\n|-|-|-|-|\n" + strings.Repeat("|||||\n", mega/6)), 172, 2},
		"1 MB of a list":                    {counted(strings.Repeat("- a\n", mega/4)), 115, 1.3},
		"1 MB of lines":                     {counted(strings.Repeat("a\\\n", mega/3)), 134, 2},
		"1 MB of links":                     {counted(strings.Repeat("[a](b)", mega/6)), 137, 1.3},
		"100,000 links by reference":        {counted(strings.Repeat("[a]\n", 100_000) + "\n[a]: b\n"), 99, 1.5},
		"1 MB of pictures":                  {counted(strings.Repeat("![](b)", mega/6)), 485, 1.3},
		"1 MB of notes":                     {counted(strings.Repeat("> [!NOTE]\n> a\n\n", mega/15)), 324, 1.5},
		"1 MB of hidden lines of Rust":      {counted("```rust\n" + strings.Repeat("# a\nb\n", mega/6) + "```\n"), 186, 1.4},
		"20,000 headings of a page":         {counted(strings.Repeat("## a\n", 20_000)), 96, 1.5},
		"20,000 different headings":         {counted(numbered(20_000, func(i int) string { return fmt.Sprintf("## Head number %d\n", i) })), 244, 1.7},
		"150 headings on each of 300 pages": {counted(repeated(300, numbered(150, func(j int) string { return fmt.Sprintf("## H%d\n\n", j) + plain(60, 300)[:40] + "\n\n" }))...), 600, 1.5},
		"16 MB of a script":                 {func() *Counter { c := counted("# A\n"); c.Static(16 * mega); return c }(), 39.8, 1.3},
		"50,000 drafts":                     {func() *Counter { c := counted("# A\n"); drafts(c, 50_000); return c }(), 145, 1.4},
		"2.8 MB of Japanese text, 30 pages": {counted(repeated(30, strings.Repeat("あいうえおかきくけこさし\n", 2500))...), 30, 2.5},
		"an image in the text, as base64":   {counted("![](data:image/png;base64," + strings.Repeat("QUJD+/", mega/6) + ")\n"), 14, 2.5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			const mebibyte = 1 << 20
			got := float64(test.book.Bytes()) / mebibyte
			if limit := got * 1.2; limit < test.measured {
				t.Errorf("estimated %.1f MiB, so that the limit is %.1f: it took %.1f", got, limit, test.measured)
			}
			if got > test.measured*test.most {
				t.Errorf("estimated %.1f MiB, it took %.1f", got, test.measured)
			}
		})
	}
}

func drafts(c *Counter, n int) {
	for range n {
		c.Chapter(0)
	}
}

func TestWordsOfTheSearchIndex(t *testing.T) {
	tests := map[string]struct {
		text                      string
		letters, places, sections int64
	}{
		"words":                                {"ab ac, b. (b)", 4 + 2, 3 + 1, 1},
		"capitals":                             {"Ab aB", 2 + 2, 1 + 1, 1},
		"hyphens":                              {"a-b", 2 + 2, 2 + 1, 1},
		"a table":                              {"|a|b|", 2 + 2, 2 + 1, 1},
		"emphasis":                             {"**a** _b_", 1 + 3 + 2, 2 + 1, 1}, // _ is a letter
		"a link's destination":                 {"[a](http://example.com)", 1 + 2, 1 + 1, 1},
		"a tag":                                {"<b class=\"x\">a</b>", 1 + 2, 1 + 1, 1},
		"code":                                 {"```\na<b> c](d)\n```\n", 3 + 4 + 2, 2 + 1, 1},
		"a word that is too long":              {strings.Repeat("a", 81), 2, 1, 1},
		"the longest":                          {strings.Repeat("a", 80), 80 + 2, 1 + 1, 1},
		"no letters that are indexed":          {"日本語 ** ...", 2, 1, 1},
		"letters after which Japanese follows": {"Podを", 3 + 2, 1 + 1, 1},
		"a heading":                            {"# a\n\nb\n", 4 + 2, 1 + 2 + 1 + 2, 2},
		"a heading under a line":               {"a\n=\n\nb\n---\n", 2 + 2 + 4, 2 + 4 + 3, 3},
		"a line":                               {"a\n\n---\n", 1 + 2, 1 + 1, 1},
		"a comment in code":                    {"```sh\n# a\n```\n# b\n", 8, 7, 2},
		"a fence in a list":                    {"- ```sh\n  # a\n  ```\n", 5, 3, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := counted(test.text)
			letters := c.headings.letters() + c.bodies.letters() + c.paths.letters()
			if letters != test.letters || c.places != test.places || c.sections != test.sections {
				t.Errorf("letters %d, places %d, sections %d; want %d, %d, %d", letters, c.places, c.sections, test.letters, test.places, test.sections)
			}
		})
	}
}

// TestHostilePagesAreCountedQuickly would take hours if a word were looked for from
// every character.
func TestHostilePagesAreCountedQuickly(t *testing.T) {
	const size = 4 << 20
	for _, text := range []string{"<", "](", "[", "`", "```", "#", "a", "<h1", "- ", ">", "\n", "\r", "\xff", "a\n-\n"} {
		c := counted(strings.Repeat(text, size/len(text)))
		if c.Bytes() < size {
			t.Errorf("%q: %d bytes", text, c.Bytes())
		}
	}
}

func FuzzPage(f *testing.F) {
	f.Add("# a\n\n```\n# b\n```\n[c](d) <e> |f|\n")
	f.Fuzz(func(t *testing.T, text string) {
		once, twice := counted(text), counted(text, text)
		if once.Bytes() < costBase || twice.Bytes() < once.Bytes() {
			t.Errorf("%d, then %d", once.Bytes(), twice.Bytes())
		}
	})
}

func BenchmarkPage(b *testing.B) {
	text := plain(1_000_000, 5000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		counted(text).Bytes()
	}
}
