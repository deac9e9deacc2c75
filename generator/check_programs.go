package generator

import (
	"path"
	"slices"
	"strings"

	"github.com/zoetrope/markdown-view/generator/book"
)

// imagePrograms are the programs beside mdbook itself that DefaultViewerImage
// holds. None of them changes where links lead to.
var imagePrograms = []string{"mdbook-mermaid", "mdbook-toc"}

// scriptEndings are those of files that an interpreter, or cargo, is given.
var scriptEndings = []string{".bash", ".jar", ".js", ".lua", ".mjs", ".php", ".pl", ".ps1", ".py", ".rb", ".sh", ".toml", ".ts"}

// checkPrograms warns of programs that aren't in the pod, as far as it is known: those
// that the image lacks, and files of the project. It is no more than a warning, because
// kustomize may put another image in place of the default one.
func (c *checker) checkPrograms() {
	for _, plugin := range c.config.Preprocessors {
		c.checkProgram("preprocessor", plugin)
	}
	for _, plugin := range c.config.Renderers {
		c.checkProgram("output", plugin)
	}
}

func (c *checker) checkProgram(table string, plugin book.Plugin) {
	words := commandWords(plugin.Command)
	if len(words) == 0 {
		c.complain(true, "[%s.%s] has an empty command: name a program, or drop the key", table, plugin.Name)
		return
	}
	program := words[0]
	const advice = "install it on the PATH of an image of your own, name it without a path in command, and set viewerImage to the image; or commit the pages as it makes them, and drop the table"
	switch script := c.missingScript(words[1:]); {
	case isOfProject(program):
		then := "so that mdBook fails"
		if plugin.Optional && !c.has(path.Clean(program)) {
			then = "so that mdBook goes on without it and pages are served as they are"
		}
		c.warnOfConfig(plugin.Line, "[%s.%s] runs %.120s, a file of the project that can't be run in the pod, %s: %s", table, plugin.Name, program, then, advice)
	case script != "":
		then := "so that mdBook fails"
		if table == "preprocessor" {
			then = "so that mdBook fails, or goes on without the preprocessor and pages are served as they are"
		}
		c.warnOfConfig(plugin.Line, "[%s.%s] runs %.60s with %.120s, a file of the project that isn't in the pod, %s: %s", table, plugin.Name, program, script, then, advice)
	case c.usesDefaultImage() && !plugin.Optional && !slices.Contains(imagePrograms, program):
		c.warnOfConfig(plugin.Line, "[%s.%s] needs the program %.120s, which the image %s lacks, so that mdBook fails: drop the table, add optional = true, or set viewerImage to an image that has it",
			table, plugin.Name, program, DefaultViewerImage)
	}
}

// commandWords splits a command as far as it matters here.
func commandWords(command string) []string {
	words := strings.Fields(command)
	for i, word := range words {
		words[i] = strings.Trim(word, `"'`)
	}
	return words
}

// isOfProject reports whether mdBook looks for a program below the book's root, where
// files of the volume can't be executed and those of an image are hidden.
func isOfProject(program string) bool {
	return strings.Contains(program, "/") && !path.IsAbs(program)
}

// missingScript returns the first argument that looks like a file of the project and
// isn't in the book.
func (c *checker) missingScript(arguments []string) string {
	for _, argument := range arguments {
		looksLikeFile := slices.Contains(scriptEndings, path.Ext(argument)) && !strings.HasPrefix(argument, "-") && !strings.Contains(argument, "://")
		if looksLikeFile && !path.IsAbs(argument) && !c.has(path.Clean(argument)) {
			return argument
		}
	}
	return ""
}

// has reports whether a file is in the book, by its path from the book's root.
func (c *checker) has(file string) bool {
	file = c.layout.below(file)
	return slices.ContainsFunc(c.layout.entries, func(e entry) bool { return e.path == file })
}

// changingPreprocessors are those that may change what the pages' links lead to, or
// which chapters there are. One that mdBook can do without isn't run if the image lacks
// it.
func (c *checker) changingPreprocessors() []string {
	var names []string
	for _, plugin := range c.config.Preprocessors {
		words := commandWords(plugin.Command)
		isLacking := plugin.Optional && c.usesDefaultImage()
		if len(words) > 0 && !slices.Contains(imagePrograms, words[0]) && !isLacking {
			names = append(names, plugin.Name)
		}
	}
	return names
}

// chaptersStay reports whether no preprocessor changes which chapters there are.
func (c *checker) chaptersStay() bool { return len(c.changingPreprocessors()) == 0 }
