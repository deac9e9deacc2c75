package generator

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

func staticView() *v1.MarkdownView {
	view := newView("docs", withPages(map[string]string{"a.md": "# A\n"}))
	view.Spec.StaticServer = &v1.StaticServer{}
	return view
}

func podOf(output *Output) *corev1ac.PodSpecApplyConfiguration {
	return output.Deployment.Spec.Template.Spec
}

func configOf(output *Output) string {
	return output.Deployment.Spec.Template.Annotations[v1.ServerConfigAnnotation]
}

func TestAStaticServerServesWhatMdBookBuilds(t *testing.T) {
	view := staticView()
	output := mustGenerate(t, view)
	pod := podOf(output)
	if len(pod.InitContainers) != 1 || len(pod.Containers) != 1 {
		t.Fatalf("%d init containers, %d containers", len(pod.InitContainers), len(pod.Containers))
	}
	builder, server := pod.InitContainers[0], pod.Containers[0]
	if *builder.Name != "mdbook" || *builder.Image != DefaultViewerImage || !slices.Equal(builder.Args, []string{"build"}) {
		t.Errorf("%s of %s runs mdbook %q", *builder.Name, *builder.Image, builder.Args)
	}
	if builder.ReadinessProbe != nil || builder.LivenessProbe != nil || builder.StartupProbe != nil || builder.Lifecycle != nil || builder.Ports != nil {
		t.Error("the init container has what only a container may have")
	}
	if *server.Name != ServerName || *server.Image != DefaultServerImage || *server.ReadinessProbe.HTTPGet.Path != HealthPath {
		t.Errorf("%s of %s is ready by %s", *server.Name, *server.Image, *server.ReadinessProbe.HTTPGet.Path)
	}
	if diff := cmp.Diff(restricted(), server.SecurityContext); diff != "" {
		t.Error(diff)
	}

	view.Spec.StaticServer = nil
	served := mustGenerate(t, view)
	if served.Revision != output.Revision {
		t.Error("another server makes another revision of the pages")
	}
	if diff := cmp.Diff(served.Service, output.Service); diff != "" {
		t.Errorf("the Service isn't the same: %s", diff)
	}
	if diff := cmp.Diff(served.ConfigMaps, output.ConfigMaps); diff != "" {
		t.Errorf("the ConfigMaps aren't the same: %s", diff)
	}
	if configOf(served) != "" {
		t.Error("mdBook's own server has a configuration of nginx")
	}
}

func TestTheStaticServersImageCanBeChosen(t *testing.T) {
	view := staticView()
	view.Spec.StaticServer.Image = "registry.example.com/nginx:1"
	if image := *podOf(mustGenerate(t, view)).Containers[0].Image; image != "registry.example.com/nginx:1" {
		t.Error(image)
	}
	view.Spec.StaticServer.Image = "a b"
	want := []string{`spec.staticServer.image: Invalid value: "a b": must not contain white space`}
	if diff := cmp.Diff(want, faults(t, view)); diff != "" {
		t.Error(diff)
	}
}

// A large file's parts are put together before mdBook builds.
func TestLargeFilesAreAssembledBeforeTheSiteIsBuilt(t *testing.T) {
	view := staticView()
	view.Spec.Markdowns["a.md"] = strings.Repeat("# A\n", 1<<19)
	var names []string
	for _, container := range podOf(mustGenerate(t, view)).InitContainers {
		names = append(names, *container.Name)
	}
	if diff := cmp.Diff([]string{"assemble", "mdbook"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestTheStaticServerKnowsItsFolderAndPath(t *testing.T) {
	tests := map[string]struct {
		toml   string
		root   string
		prefix string
	}{
		"a book without book.toml":      {"", "/build", ""},
		"the site at the root":          {"[output.html]\nsite-url = '/'", "/build", ""},
		"the site below a path":         {"[output.html]\nsite-url = '/docs/hand.book/'", "/build", `^/docs/hand\.book/(.*)$`},
		"a path without slashes":        {"[output.html]\nsite-url = 'docs'", "/build", `^/docs/(.*)$`},
		"a whole address":               {"[output.html]\nsite-url = 'https://example.com/docs/'", "/build", `^/docs/(.*)$`},
		"another renderer beside HTML":  {"[output.html]\n[output.markdown]", "/build/html", ""},
		"no page for unknown addresses": {"[output.html]\ninput-404 = ''", "/build", ""},
	}
	root := regexp.MustCompile(`root (\S+);`)
	prefix := regexp.MustCompile(`rewrite "([^"]+)" "/\$1";`)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := staticView()
			view.Spec.BookToml = test.toml
			config := configOf(mustGenerate(t, view))
			if got := root.FindStringSubmatch(config)[1]; got != test.root {
				t.Errorf("root is %s, not %s", got, test.root)
			}
			got := ""
			if match := prefix.FindStringSubmatch(config); match != nil {
				got = match[1]
			}
			if got != test.prefix {
				t.Errorf("the prefix is %q, not %q", got, test.prefix)
			}
			if strings.ContainsAny(config, "@") && strings.Contains(strings.ReplaceAll(config, "@folder", ""), "@") {
				t.Errorf("something was left to be filled in:\n%s", config)
			}
		})
	}
}

// What a book says ends up in a configuration of nginx: nothing but plain paths may.
func TestNoSiteURLBecomesADirective(t *testing.T) {
	for _, siteURL := range []string{"/a;b/", "/a b/", `/a"b/`, "/a{1}/", "/a$uri/", "/a\\nb/", "/a%0ab/", "/(a|b)/", "/é/", "::",
		"/.markdown-view/", "/.markdown-view/health", "/.markdown-view/x/../", "/" + strings.Repeat("a", 2000)} {
		view := staticView()
		view.Spec.BookToml = "[output.html]\nsite-url = \"" + strings.ReplaceAll(siteURL, `"`, `\"`) + "\""
		output := mustGenerate(t, view)
		view.Spec.BookToml = ""
		if diff := cmp.Diff(configOf(mustGenerate(t, view)), configOf(output)); diff != "" {
			t.Errorf("%s: %s", siteURL, diff)
		}
		if len(output.Warnings) != 1 || !strings.Contains(output.Warnings[0].String(), "site-url") {
			t.Errorf("%s: %v", siteURL, output.Warnings)
		}
	}
}

// mdbook build reads what mdbook serve sets itself, and without it nothing of the table.
func TestTheStaticServersSiteURLHasToBeAString(t *testing.T) {
	view := staticView()
	view.Spec.BookToml = "[output.html]\nsite-url = 5\ndefault-theme = 'navy'\n"
	warnings := mustGenerate(t, view).Warnings
	if len(warnings) != 1 || !strings.Contains(warnings[0].String(), "output.html.site-url must be a string") {
		t.Errorf("mdbook build: %v", warnings)
	}
	view.Spec.StaticServer = nil
	if warnings := mustGenerate(t, view).Warnings; len(warnings) > 0 {
		t.Errorf("mdbook serve: %v", warnings)
	}
}

// Flux replaces ${NAME} in what it applies, and Kubernetes $(NAME) in arguments.
func TestNothingReplacesPartsOfTheStaticServersConfiguration(t *testing.T) {
	for _, held := range []string{"${", "$("} {
		if strings.Contains(configOf(mustGenerate(t, staticView())), held) {
			t.Errorf("the configuration holds %s", held)
		}
	}
}

func TestPatchesOfAStaticServersPod(t *testing.T) {
	const template = "spec:\n  template:\n    spec:\n      "
	tests := map[string]struct{ patch, want string }{
		"resources of mdBook":           {template + "initContainers: [{name: mdbook, resources: {limits: {memory: 1Gi}}}]", ""},
		"environment of mdBook":         {template + "initContainers: [{name: mdbook, env: [{name: RUST_LOG, value: debug}]}]", ""},
		"the server's image":            {template + "containers: [{name: server, image: nginx}]", ""},
		"the server's configuration":    {"spec: {template: {metadata: {annotations: {view.zoetrope.github.io/nginx.conf: 'events {}'}}}}", ""},
		"a container beside the server": {template + "containers: [{name: proxy, image: proxy}]", ""},
		"mdBook where it serves without a static server": {template + "containers: [{name: mdbook, env: [{name: RUST_LOG, value: debug}]}]",
			"name it server; mdBook runs in the init container mdbook"},
		"no configuration": {"spec: {template: {metadata: {annotations: {view.zoetrope.github.io/nginx.conf: null}}}}",
			"a patch can't change the key view.zoetrope.github.io/nginx.conf of its spec.template.metadata.annotations, which is reserved"},
		"no mdBook": {template + "initContainers: [{name: mdbook, $patch: delete}]",
			"a patch can't remove or rename the init container mdbook, which builds the site, nor add another of its name"},
		"other pages": {template + "initContainers: [{name: mdbook, volumeMounts: [{name: build, mountPath: /book}]}]",
			"a patch can't change what the init container mdbook mounts at /book and below, which is the pages"},
		"no server": {template + "containers: [{name: server, $patch: delete}, {name: other, image: a, ports: [{name: http, containerPort: 1}]}]",
			"a patch can't remove or rename the container server, which serves the site, nor add another of its name"},
		"a server that is ready at once": {template + "containers: [{name: server, readinessProbe: null}]",
			"a patch can't remove readinessProbe of the container server, which tells when it serves the site"},
		"another site": {template + "containers: [{name: server, volumeMounts: [{name: scratch, mountPath: /build}]}]",
			"a patch can't change what the container server mounts at /build and below, which is the site"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := staticView()
			view.Spec.Patches = []v1.Patch{of("Deployment", test.patch)}
			found := strings.Join(faults(t, view), "\n")
			if (test.want == "") != (found == "") || !strings.Contains(found, test.want) {
				t.Errorf("found %q, want %q", found, test.want)
			}
		})
	}
}
