package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestAllWarnings(t *testing.T) {
	var links strings.Builder
	for i := range 6 {
		fmt.Fprintf(&links, " [x](%d.html)", i)
	}
	in := strings.Replace(strings.Replace(view, "  contentFrom:\n  - configMapRef: {name: pages}\n", "", 1),
		`"- [A](a.md)"`, `"- [A](a.md)"`+"\n    a.md: '"+links.String()+"'", 1)
	const one = "warning: MarkdownView handbook (standard input): spec.markdowns: 6 links and images lead nowhere, " +
		"such as a.md:1: the link to 0.html leads nowhere: the book has no such file (fn --all-warnings lists them all)\n"
	grouped := runCommand([]string{"-"}, in)
	if grouped.failed || grouped.errOut != one {
		t.Errorf("failed: %t, standard error: %s", grouped.failed, grouped.errOut)
	}
	all := runCommand([]string{"--all-warnings", "-"}, in)
	if n := strings.Count(all.errOut, "warning: MarkdownView handbook (standard input): spec.markdowns: a.md:1: the link to "); n != 6 || all.out != grouped.out {
		t.Errorf("%d warnings, standard error: %s", n, all.errOut)
	}
}
