package theme

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zoetrope/markdown-view/generator/diagnostic"
)

// soundTemplates hold all that the grammar has.
var soundTemplates = map[string]string{
	"values":     "a {{b}} {{{c}}} {{~d.e~}} {{&g}} {{ {x} }} {{this}} {{@root/x}} {{[a b].c}} {{../x}}",
	"blocks":     "{{#if (eq ../x \"y\")}} z {{else if (and a b)}}{{^}}w{{/if}} {{~#if a~}} {{~else~}} {{~/if~}} {{#unless a}}{{/unless}}",
	"comments":   "{{!-- c }} --}} {{! d }} {{!}} {{!----}} \\{{e}} \\\\{{f}} } }} {",
	"raw blocks": "{{{{raw}}}} {{x}} {{#y {{{{/raw}}}}",
	"partials":   "{{#*inline \"q\"}}i{{/inline}} {{>q}} {{> q a=1 }} {{#>h}}j{{/h}} {{#> h}}{{/}}",
	"literals":   "{{lookup a 'b\\'c'}} {{log -1.5E3 true null [1, \"2\"] {\"a\": null}}} {{lookup [1] 0}} {{lookup a 2x}}",
	"loops":      "{{#each a as |k v|}}{{@index}}{{else}}{{/each}} {{#with (lookup a b) as |c|}}{{/with}} {{len a}} {{not a}}",
}

type check struct {
	theme map[string]string
	want  []string
}

const (
	reads = "mdBook 0.5 can't read the template"
	stops = ", so it doesn't start"
	fails = ", so it fails when it gets here"
)

var checks = map[string]check{
	"no theme": {},
	"a helper that mdBook 0.4 had": {
		theme: map[string]string{"index.hbs": "a\n{{#previous}}{{link}}{{/previous}}\n{{theme_option \"Light\"}}"},
		want: []string{
			"index.hbs:2: mdBook 0.5 has no helper previous (mdBook 0.4 had it: write {{#if previous}}, and previous.link for its link)" + stops,
			"index.hbs:3: mdBook 0.5 has no helper theme_option (mdBook 0.4 had it: write the theme's name)" + stops,
		},
	},
	"helpers that may be called": {
		theme: map[string]string{"index.hbs": "{{#if is_map}}{{#next}}{{/next}}{{x y}}{{/if}}{{#toc}}{{/toc}}"},
		want: []string{
			"index.hbs:1: mdBook 0.5 has no helper next (mdBook 0.4 had it: write {{#if next}}, and next.link for its link)" + fails,
			"index.hbs:1: mdBook 0.5 has no helper x" + fails,
		},
	},
	"helpers in arguments": {
		theme: map[string]string{"head.hbs": "{{#if (has x)}}{{/if}}{{log a=(b)}}{{(c d)}}"},
		want: []string{
			"head.hbs:1: mdBook 0.5 has no helper has" + stops, "head.hbs:1: mdBook 0.5 has no helper b" + stops,
			"head.hbs:1: mdBook 0.5 has no helper c" + stops,
		},
	},
	"a value of any name": {theme: map[string]string{"header.hbs": "{{next}} {{{foo}}} {{a.b.c}} {{&x}}"}},
	"a block that isn't closed": {
		theme: map[string]string{"header.hbs": "{{#if a}}\n\n"},
		want:  []string{"header.hbs:3: " + reads + " from here on: a tag or a block isn't closed"},
	},
	"a block that is closed as another": {
		theme: map[string]string{"header.hbs": "\n{{#if a}}{{/each}}"},
		want:  []string{"header.hbs:2: " + reads + ": the block \"if\" that begins here is closed by {{/each}}"},
	},
	"braces of another language": {
		theme: map[string]string{"head.hbs": "<script>\nlet a = {{b: 1, c: 2}};\n</script>"},
		want:  []string{"head.hbs:2: " + reads + ` from here on: "{{b: 1, c: 2}};"`},
	},
	"an end without a beginning": {
		theme: map[string]string{"toc.html.hbs": "a {{/if}}"},
		want:  []string{"toc.html.hbs:1: " + reads + ` from here on: "{{/if}}"`},
	},
	"what isn't UTF-8": {
		theme: map[string]string{"redirect.hbs": "\xff"},
		want:  []string{"redirect.hbs: is not UTF-8 text, which mdBook takes templates for only"},
	},
	"a partial that isn't there": {
		theme: map[string]string{"index.hbs": "{{> head}}{{> footer}}{{#if x}}{{> nav/bar}}{{/if}}"},
		want: []string{
			"index.hbs:1: mdBook 0.5 has no partial footer, which {{> }} includes (there are head and header, no files of the theme's own)" + stops,
			"index.hbs:1: mdBook 0.5 has no partial nav/bar, which {{> }} includes (there are head and header, no files of the theme's own)" + fails,
		},
	},
	"a partial that a template defines":       {theme: map[string]string{"index.hbs": "{{#*inline \"x\"}}y{{/inline}}{{> x}}"}},
	"a partial with something in its place":   {theme: map[string]string{"index.hbs": "{{#> gone}}y{{/gone}}"}},
	"a template that includes itself":         {theme: map[string]string{"header.hbs": "{{> header}}"}, want: []string{"header.hbs:1: mdBook 0.5 lets no template include itself, as header does" + stops}},
	"a template that isn't included":          {theme: map[string]string{"index.hbs": "x", "header.hbs": "{{x y}}"}, want: []string{"header.hbs:1: mdBook 0.5 has no helper x" + fails}},
	"a decorator that isn't there":            {theme: map[string]string{"index.hbs": "{{* x}}"}, want: []string{"index.hbs:1: mdBook 0.5 has no decorator x" + stops}},
	"too few arguments":                       {theme: map[string]string{"index.hbs": "{{#if}}{{/if}}{{fa \"solid\"}}{{len}}{{lookup a b=c}}"}, want: []string{"index.hbs:1: mdBook 0.5 wants 1 or more arguments for the helper if" + stops, "index.hbs:1: mdBook 0.5 wants 2 or more arguments for the helper fa" + stops, "index.hbs:1: mdBook 0.5 wants 1 or more arguments for the helper len" + stops, "index.hbs:1: mdBook 0.5 wants 2 or more arguments for the helper lookup" + stops}},
	"an icon that isn't there":                {theme: map[string]string{"index.hbs": "{{fa \"solid\" 'fa-barz'}}"}, want: []string{`index.hbs:1: mdBook 0.5 has no icon "barz" of the style "solid"` + stops}},
	"an icon that is there":                   {theme: map[string]string{"index.hbs": "{{fa \"solid\" 'fa-bars' \"x\"}}{{#if x}}{{fa a b}}{{/if}}"}},
	"files in the templates that know others": {theme: map[string]string{"toc.js.hbs": "{{resource \"a.js\"}}", "redirect.hbs": "{{resource \"a.js\"}}", "toc.html.hbs": "{{resource \"a.js\"}}"}, want: []string{"redirect.hbs:1: mdBook 0.5 can't call the helper resource in this template: write the file's path" + stops, "toc.js.hbs:1: mdBook 0.5 has no helper resource in this template" + stops}},
	"a file of another name":                  {theme: map[string]string{"footer.hbs": "{{#x}}", "css/index.hbs": "{{"}},
}

func TestCheck(t *testing.T) {
	for name, test := range checks {
		t.Run(name, func(t *testing.T) {
			files := map[string][]byte{}
			for file, text := range test.theme {
				files[file] = []byte(text)
			}
			var got []string
			for _, fault := range Check(files, true) {
				got = append(got, fault.String())
				if (fault.Severity == diagnostic.Error) == strings.HasSuffix(fault.Message, fails) {
					t.Errorf("%v: %s", fault.Severity, fault.Message)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSoundTemplates(t *testing.T) {
	for name, text := range soundTemplates {
		if _, fault, _ := parse(text); fault >= 0 {
			t.Errorf("%s: from %q on", name, text[fault:])
		}
	}
}

// Hostile templates are read in a moment, and what is nested too deeply isn't judged.
func TestHostileTemplates(t *testing.T) {
	const size = 1 << 20
	for _, text := range []string{"(", "{{(", "{{#if a}}", "{{a (b ", "[", "{{a [", "{{a [1,", "{{{{x}}}}", "{{!--", "{{~", "\\", "{{a '\\", "{{#>a}}", "{{a b=", "{{else a ", "{{x y}}", "{{#if}}{{/x}}"} {
		repeated := strings.Repeat(text, size/len(text))
		if faults := Check(map[string][]byte{"index.hbs": []byte(repeated)}, true); len(faults) > 20 {
			t.Errorf("%s: %d faults", text, len(faults))
		}
		if !strings.HasPrefix(text, "{{") {
			Check(map[string][]byte{"index.hbs": []byte("{{a " + repeated)}, true)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range soundTemplates {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, fault := range Check(map[string][]byte{"index.hbs": []byte(text)}, false) {
			if fault.Line < 0 || fault.Line > 1+strings.Count(text, "\n") {
				t.Errorf("%v", fault)
			}
		}
	})
}
