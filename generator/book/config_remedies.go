package book

import (
	"fmt"

	"github.com/zoetrope/markdown-view/generator/spelling"
)

// removedKeys were known to mdBook 0.4.
var removedKeys = map[string]string{
	"book.multilingual":            "it never had an effect",
	"output.html.copy-fonts":       "fonts are always copied",
	"output.html.curly-quotes":     "write smart-punctuation",
	"output.html.google-analytics": "put the script into the theme's head.hbs",
}

// remedy says what to do about a key of a table that mdBook doesn't know.
func remedy(name string, known keys) string {
	tables := tablesWith(name, "", configKeys)
	if len(tables) == 1 {
		return fmt.Sprintf(": it belongs in [%s]", tables[0])
	}
	if nearest := spelling.Nearest(name, sortedKeys(known)); nearest != "" {
		return fmt.Sprintf(": did you mean %q?", nearest)
	}
	return ": remove it, or set spec.viewerImage to an mdBook that knows it"
}

// tablesWith lists the named tables in and below one of path in which mdBook knows a key.
func tablesWith(name, path string, known keys) []string {
	var found []string
	for _, key := range sortedKeys(known) {
		table, isTable := known[key].(keys)
		switch {
		case key == anyKey:
		case key == name && path != "":
			found = append(found, path)
		case isTable:
			found = append(found, tablesWith(name, joined(path, key), table)...)
		}
	}
	return found
}

func joined(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
