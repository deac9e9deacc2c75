package generator

import (
	"fmt"
	"strings"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	const mi = 1 << 20
	tests := map[string]struct {
		markdown int64 // bytes
		want     int64 // MiB
	}{
		"no page":                     {0, 64},
		"a page":                      {1 << 10, 64},
		"the most that takes no more": {8 * mi / 320, 64},
		"a byte more than that":       {8*mi/320 + 1, 80},
		"a handbook of 100 KiB":       {100 << 10, 96},
		"a guide of 1 MiB":            {mi, 384},
		"a book of 1.7 MB":            {1_700_000, 512},
		"4 MiB":                       {4 * mi, 976},
		"the largest book":            {32 * mi, 6576},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := memoryLimit(test.markdown) / mi; got != test.want {
				t.Errorf("limit = %d MiB, want %d", got, test.want)
			}
		})
	}
}

func TestMemoryLimitOnlyGrows(t *testing.T) {
	last := int64(0)
	for markdown := int64(0); markdown < 40<<20; markdown += 12345 {
		limit := memoryLimit(markdown)
		if limit < last || limit%memoryStep != 0 {
			t.Fatalf("limit of %d bytes = %d after %d", markdown, limit, last)
		}
		last = limit
	}
}

func TestResourcesOfABook(t *testing.T) {
	images := []entry{{path: "src/a.md", content: make([]byte, 1<<10)}, {path: "src/a.png", content: make([]byte, 1<<20)}}
	got := resources(images)
	if limit := (*got.Limits)["memory"]; limit.String() != "64Mi" {
		t.Errorf("an image counts as Markdown: limit %s", limit.String())
	}
	if request := (*got.Requests)["memory"]; request.String() != "32Mi" {
		t.Errorf("request = %s", request.String())
	}
	if _, limited := (*got.Limits)["cpu"]; limited {
		t.Error("there is a CPU limit")
	}
}

func TestSlowBooksGetMoreTime(t *testing.T) {
	pages := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprintf("%d.md", i)] = ""
		}
		return m
	}
	tests := map[string]struct {
		pages map[string]string
		want  bool
	}{
		"a small book":              {pages(3), false},
		"as many pages as is quick": {pages(slowPages - 1), false},
		"a page more":               {pages(slowPages), true},
		"much text":                 {map[string]string{"a.md": strings.Repeat("x", slowMarkdownBytes)}, true},
		"a large image":             {map[string]string{"a.md": "", "a.png": strings.Repeat("x", slowMarkdownBytes)}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			container := mustGenerate(t, newView("a", withPages(test.pages))).Deployment.Spec.Template.Spec.Containers[0]
			if got := container.StartupProbe != nil; got != test.want {
				t.Errorf("startup probe: %t, want %t", got, test.want)
			}
		})
	}
}
