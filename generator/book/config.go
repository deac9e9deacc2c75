package book

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// ConfigPath is the file that configures mdBook, in the book's root.
const ConfigPath = "book.toml"

// DefaultSrc is mdBook's name of the source folder, where the configuration has none.
const DefaultSrc = "src"

// Limits of a book.toml, both far above what a book needs: the TOML parser's time
// grows with the square of the number of keys.
const (
	// MaxConfigBytes is the most bytes that it may have.
	MaxConfigBytes = 256 << 10
	// MaxConfigKeys is the most keys that it may have, table names included.
	MaxConfigKeys = 10000
)

// Config is what a book.toml says about the book's files and about the programs
// that build it. Paths are slash-separated, clean and, where not said otherwise,
// relative to the book's root. They begin with ../ where they lead out of it.
type Config struct {
	// Src is the source folder (book.src); "." when it is the book's root, and DefaultSrc when
	// none is named.
	Src string
	// BuildDir is the folder that mdBook writes the site to (build.build-dir); ""
	// when that is the book's root itself or an absolute path.
	BuildDir string
	// Theme is the folder of the HTML theme (output.html.theme), "." when it is
	// the book's root.
	Theme string
	// ThemeRequired says that book.toml names the theme: mdBook then fails when
	// the folder is missing, while a missing default is nothing.
	ThemeRequired bool
	// AdditionalCSS and AdditionalJS are published beside the site's own
	// (output.html.additional-css and -js). mdBook fails when one is missing.
	AdditionalCSS, AdditionalJS []string
	// Input404 is the page for unknown addresses (output.html.input-404), relative
	// to Src, and perhaps outside of it; "" when book.toml names none. mdBook fails
	// when it is missing.
	Input404 string
	// No404 says that mdBook makes no page for unknown addresses: input-404 is "".
	No404 bool
	// SiteURL is where the site is reached, as it is written (output.html.site-url); "" when
	// book.toml doesn't say.
	SiteURL string
	// Redirects are the addresses that are redirected, as they are written, and where
	// to (output.html.redirect). mdBook fails when one is a chapter's own.
	Redirects map[string]string
	// SearchChapters are the paths below Src with settings for the search
	// (output.html.search.chapter), as they are written, sorted; none when there is no
	// search. mdBook fails when one is no chapter's.
	SearchChapters []string
	// RepositoryURL and RepositoryIcon are output.html.git-repository-url and -icon.
	// mdBook fails when it doesn't know the icon.
	RepositoryURL, RepositoryIcon string
	// ExtraWatchDirs are watched by mdbook serve beside the book's own files
	// (build.extra-watch-dirs), as they are written.
	ExtraWatchDirs []string
	// Written are those of the paths above that are written in another way than they
	// stand here and hold "..", as they are written but relative to the book's root.
	// The operating system follows them through each folder and link.
	Written []string
	// NoSearch says that no search index is built (output.html.search.enable = false).
	NoSearch bool
	// ExpandsIncludes reports whether {{#include}} in pages is expanded: not when the
	// default preprocessors are switched off.
	ExpandsIncludes bool
	// SeveralRenderers reports whether mdBook gives each renderer a folder of its own
	// below the one that it builds in: html to that of the site.
	SeveralRenderers bool
	// RendersHTML reports whether a site is built: not when [output] names only other
	// renderers.
	RendersHTML bool
	// Preprocessors are the programs that change pages before they become HTML,
	// sorted by name, without those that are part of mdBook. mdBook fails when a
	// program is missing that isn't optional.
	Preprocessors []Plugin
	// Renderers are the programs that build the book in other forms than HTML,
	// sorted by name, without those that are part of mdBook. mdBook fails when a
	// program is missing that isn't optional.
	Renderers []Plugin
	// HTMLIgnored says that mdBook ignores all of [output.html], for a fault that is
	// among Faults. What is above is then what the table says all the same: another
	// version of mdBook may know the key.
	HTMLIgnored bool
	// Faults are what mdBook 0.5 objects to in a book.toml that can be read: the first
	// 20, in the order of the file. An error means that it doesn't start, a warning that it
	// logs one and ignores all of [output.html]. Other versions may not object: a key that
	// is unknown here may be one that a later mdBook has added.
	Faults diagnostic.List
	// BuildFaults are further ones, to which only mdbook build objects: see [Config.Built].
	BuildFaults diagnostic.List
}

// Built returns the configuration as mdbook build takes it, not mdbook serve.
func (c Config) Built() Config {
	if len(c.BuildFaults) > 0 {
		c.Faults, c.HTMLIgnored = slices.Concat(c.Faults, c.BuildFaults), true
	}
	return c
}

// Page404 returns the path below the book's root of the page for unknown addresses;
// "" when book.toml names none.
func (c Config) Page404() string {
	if c.Input404 == "" {
		return ""
	}
	return path.Join(c.Src, c.Input404)
}

// Plugin is a program that mdBook runs.
type Plugin struct {
	// Name is that of its table: linkcheck for [output.linkcheck].
	Name string
	// Command is a line of shell words. Its first word is looked up on PATH or, if
	// it contains a slash, below the book's root.
	Command string
	// Optional says that mdBook goes on without the program when it is missing.
	Optional bool
	// Line and Column of its table, from 1.
	Line, Column int
}

// ParseConfig reads the text of book.toml as mdBook 0.5 does. nil or empty text
// gives mdBook's defaults. The error is a [diagnostic.List] of one: the text isn't
// TOML 1.1, a value has the wrong type, a path is absolute, or a limit is exceeded.
func ParseConfig(text []byte) (Config, error) {
	if len(text) > MaxConfigBytes {
		return Config{}, diagnostic.List{{File: ConfigPath, Message: TooLarge(len(text))}}.Err()
	}
	// mdBook skips a byte order mark, the parser doesn't.
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	index := indexKeys(text)
	if index.count > MaxConfigKeys {
		return Config{}, index.at.errorf("has more than %d keys: %s", MaxConfigKeys, lessConfig)
	}
	var doc map[string]any
	if err := toml.Unmarshal(text, &doc); err != nil {
		return Config{}, syntaxError(err)
	}
	c := checker{positions: index.positions}
	c.table("", doc, configKeys)
	c.checkHTML(doc)
	c.checkOrder(doc)
	if err := c.firstError(); err != nil {
		return Config{}, err
	}
	config := Config{Faults: c.firstFaults(), BuildFaults: c.checkBuild(doc), HTMLIgnored: c.htmlIgnored}
	c.readPaths(&config, doc)
	c.readPlugins(&config, doc)
	if err := c.firstError(); err != nil {
		return Config{}, err
	}
	return config, nil
}

const lessConfig = "keep in it what mdBook reads, or make several books of it"

// TooLarge says that a book.toml has more than [MaxConfigBytes].
func TooLarge[N int | int64](bytes N) string {
	return fmt.Sprintf("has %d bytes, may have at most %d: %s", bytes, MaxConfigBytes, lessConfig)
}

func syntaxError(err error) error {
	var decode *toml.DecodeError
	if !errors.As(err, &decode) {
		return position{1, 1}.errorf("%v", err)
	}
	line, column := decode.Position()
	return position{line, column}.errorf("%s", strings.TrimPrefix(decode.Error(), "toml: "))
}

// readPaths takes the paths out of a document whose types were checked.
func (c *checker) readPaths(config *Config, doc map[string]any) {
	book, build := tableOf(doc, "book"), tableOf(doc, "build")
	html := tableOf(tableOf(doc, "output"), "html")

	src := textOf(book, "src", DefaultSrc)
	config.Src = c.folder(config, "book.src", src)
	config.BuildDir = path.Clean(textOf(build, "build-dir", "book"))
	if config.BuildDir == "." || ValidatePath(config.BuildDir) != nil {
		config.BuildDir = ""
	}
	_, config.ThemeRequired = html["theme"]
	config.Theme = c.folder(config, "output.html.theme", textOf(html, "theme", "theme"))
	config.AdditionalCSS = c.files(config, "output.html.additional-css", textsOf(html, "additional-css"))
	config.AdditionalJS = c.files(config, "output.html.additional-js", textsOf(html, "additional-js"))
	page, ok := html["input-404"].(string)
	config.No404 = ok && page == ""
	if page != "" {
		config.Input404 = path.Clean(page)
		c.mustBeRelative("output.html.input-404", page, path.Join(config.Src, page))
		config.addWritten(src + "/" + page)
	}
	for from, to := range tableOf(html, "redirect") {
		if config.Redirects == nil {
			config.Redirects = map[string]string{}
		}
		config.Redirects[from], _ = to.(string)
	}
	search := tableOf(html, "search")
	config.NoSearch = !flagOf(search, "enable", true)
	if !config.NoSearch {
		config.SearchChapters = slices.Sorted(maps.Keys(tableOf(search, "chapter")))
	}
	config.SiteURL = textOf(html, "site-url", "")
	config.RepositoryURL = textOf(html, "git-repository-url", "")
	config.RepositoryIcon = textOf(html, "git-repository-icon", "fab-github")
	config.ExtraWatchDirs = textsOf(build, "extra-watch-dirs")
}

// folder cleans a folder's path; mdBook takes an empty one for the root.
func (c *checker) folder(config *Config, key, written string) string {
	clean := path.Clean(written)
	if base := path.Base(clean); base != "." && base != ".." || Ascent(clean) > MaxAscent {
		c.mustBeRelative(key, written, clean)
	}
	config.addWritten(written)
	return clean
}

func (c *checker) files(config *Config, key string, written []string) []string {
	var clean []string
	for _, p := range written {
		clean = append(clean, path.Clean(p))
		c.mustBeRelative(key, p, path.Clean(p))
		config.addWritten(p)
	}
	return clean
}

func (c *checker) mustBeRelative(key, written, clean string) {
	switch {
	case path.IsAbs(written):
		c.errorf(key, "%s is %.120q, which is outside of the book's folder: the viewer has only what is inside, so move it there", key, written)
	case path.Base(clean) == ".." && Ascent(clean) <= MaxAscent:
		c.errorf(key, "%s is %.120q, which is a folder: name a file", key, written)
	default:
		validate := ValidatePath
		if Ascent(clean) == 0 {
			validate = v1.ValidateVolumePath
		}
		if err := validate(clean); err != nil {
			c.errorf(key, "%s is %.120q: a path %v", key, written, err)
		}
	}
}

func (c *Config) addWritten(p string) {
	if clean := path.Clean(p); clean != p && slices.Contains(strings.Split(p, "/"), "..") {
		c.Written = append(c.Written, p)
	}
}

// Ways returns how a path of the configuration is written: in several ways, perhaps.
func (c Config) Ways(clean string) []string {
	var ways []string
	for _, p := range c.Written {
		if path.Clean(p) == clean {
			ways = append(ways, p)
		}
	}
	if len(ways) == 0 {
		return []string{clean}
	}
	return ways
}

// readPlugins takes the programs out of a document whose types were checked.
func (c *checker) readPlugins(config *Config, doc map[string]any) {
	preprocessors, outputs := tableOf(doc, "preprocessor"), tableOf(doc, "output")

	_, links := preprocessors["links"]
	config.ExpandsIncludes = flagOf(tableOf(doc, "build"), "use-default-preprocessors", true) || links
	_, html := outputs["html"]
	config.RendersHTML = html || len(outputs) == 0
	config.SeveralRenderers = len(outputs) > 1

	for _, p := range c.plugins("preprocessor", preprocessors, "links", "index") {
		renderers, limited := tableOf(preprocessors, p.Name)["renderers"]
		if !limited || slices.Contains(renderers.([]any), any("html")) {
			config.Preprocessors = append(config.Preprocessors, p)
		}
	}
	config.Renderers = c.plugins("output", outputs, "html", "markdown")
}

func (c *checker) plugins(kind string, tables map[string]any, builtin ...string) []Plugin {
	var plugins []Plugin
	for _, name := range sortedKeys(tables) {
		if slices.Contains(builtin, name) {
			continue
		}
		table := tableOf(tables, name)
		at := c.position(kind + "." + name)
		plugins = append(plugins, Plugin{
			Name:     name,
			Command:  textOf(table, "command", "mdbook-"+name),
			Optional: flagOf(table, "optional", false),
			Line:     at.line,
			Column:   at.column,
		})
	}
	return plugins
}
