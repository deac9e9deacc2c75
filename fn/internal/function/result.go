package function

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// faultOf is an error about a field of a resource; field may be empty.
func faultOf(node *yaml.RNode, field, format string, args ...any) *framework.Result {
	return resultOf(node, diagnostic.Problem{Field: field, Message: fmt.Sprintf(format, args...)})
}

// warningOf is a warning about a field of a resource; field may be empty.
func warningOf(node *yaml.RNode, field, message string) *framework.Result {
	return resultOf(node, diagnostic.Problem{Severity: diagnostic.Warning, Field: field, Message: message})
}

var severities = map[diagnostic.Severity]framework.Severity{
	diagnostic.Error: framework.Error, diagnostic.Warning: framework.Warning, diagnostic.Info: framework.Info,
}

// resultOf names the resource that a problem is of, its field and the file that it was
// read from.
func resultOf(node *yaml.RNode, problem diagnostic.Problem) *framework.Result {
	result := &framework.Result{
		Severity: severities[problem.Severity],
		Message:  problem.Text(),
		ResourceRef: &yaml.ResourceIdentifier{
			TypeMeta: yaml.TypeMeta{APIVersion: node.GetApiVersion(), Kind: node.GetKind()},
			NameMeta: yaml.NameMeta{Name: node.GetName(), Namespace: node.GetNamespace()},
		},
	}
	if problem.Field != "" {
		result.Field = &framework.Field{Path: problem.Field}
	}
	if inKustomize(node) {
		// There kyaml makes up a file for what a function added.
		return result
	}
	if path, index, err := kioutil.GetFileAnnotations(node); err == nil && path != "" {
		result.File = &framework.File{Path: path}
		if i, err := strconv.Atoi(index); err == nil {
			result.File.Index = i
		}
	}
	return result
}

func failed(list framework.Results) bool {
	return slices.ContainsFunc(list, func(r *framework.Result) bool { return r.Severity == framework.Error })
}

// Line gives a result as one paragraph for people: severity, resource, field and
// message.
func Line(r *framework.Result) string {
	line := string(r.Severity) + ": "
	if ref := r.ResourceRef; ref != nil {
		line += cmp.Or(ref.Kind, "resource")
		switch {
		case ref.Namespace != "":
			line += " " + ref.Namespace + "/" + cmp.Or(ref.Name, "(no name)")
		case ref.Name != "":
			line += " " + ref.Name
		}
		if r.File != nil {
			line += " (" + r.File.Path + ")"
		}
		line += ": "
	}
	if r.Field != nil {
		line += r.Field.Path + ": "
	}
	return Printable(line + r.Message)
}

// Printable escapes what a terminal acts on instead of showing it: names and values in
// messages are the input's. Line ends stay.
func Printable(text string) string {
	acts := func(r rune) bool { return unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) }
	if !strings.ContainsFunc(text, acts) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if acts(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// another says which view has a node's name, by its file if it has one.
func another(view, node *yaml.RNode) string {
	file, _, _ := kioutil.GetFileAnnotations(view)
	other, _, _ := kioutil.GetFileAnnotations(node)
	switch file {
	case "":
		return "another " + v1.Kind
	case other:
		return "another " + v1.Kind + " in " + file
	}
	return "the " + v1.Kind + " in " + file
}
