package integration

import (
	"fmt"
	"strings"
	"testing"
)

// TestAPIServerRefusesWhatCannotBeIgnored holds the CRD's rules for
// spec.driftDetection against views.
func TestAPIServerRefusesWhatCannotBeIgnored(t *testing.T) {
	with := func(detection string) string {
		return "{driftDetection: " + detection + `, markdowns: {"SUMMARY.md": "- [A](a.md)"}}`
	}
	ignore := func(kind, path string) string {
		return with(fmt.Sprintf("{ignore: [{target: {kind: %s}, paths: [%q]}]}", kind, path))
	}
	const (
		at      = "spec.driftDetection.ignore[0]: Invalid value: "
		labels  = at + "name, labels, selector and owner of an object can't be left to others"
		pages   = at + "pages can't be left to others"
		pod     = at + "labels, revision, volumes, image and init containers of the pods, and what tells entries of lists apart, can't be left to others"
		ports   = at + "the Service's ports can't be left to others"
		pointer = "spec.driftDetection.ignore[0].paths[0] in body should match"
	)
	j := newJudge(t)
	for title, test := range map[string]struct{ spec, want string }{
		"replicas":                     {spec: ignore("Deployment", "/spec/replicas")},
		"an annotation":                {spec: ignore("Service", "/metadata/annotations/example.com~1team")},
		"resources":                    {spec: ignore("Deployment", "/spec/template/spec/containers/0/resources")},
		"a node port":                  {spec: ignore("Service", "/spec/ports/0/nodePort")},
		"an entry of the environment":  {spec: ignore("Deployment", "/spec/template/spec/containers/0/env/1")},
		"a name for several":           {spec: with(`{mode: Warn, ignore: [{target: {kind: ConfigMap, name: "markdowns-.*"}, paths: [/immutable]}]}`)},
		"no mode":                      {spec: with("{}")},
		"another mode":                 {spec: with("{mode: warn}"), want: `spec.driftDetection.mode: Unsupported value: "warn"`},
		"no pointer":                   {spec: ignore("Deployment", "spec/replicas"), want: pointer},
		"a wrong escape":               {spec: ignore("Deployment", "/metadata/annotations/a~2"), want: pointer},
		"the name":                     {spec: ignore("Deployment", "/metadata/name"), want: labels},
		"all labels":                   {spec: ignore("Service", "/metadata/labels"), want: labels},
		"the selector":                 {spec: ignore("Deployment", "/spec/selector/matchLabels"), want: labels},
		"the owner":                    {spec: ignore("ConfigMap", "/metadata/ownerReferences/0"), want: labels},
		"a page":                       {spec: ignore("ConfigMap", "/data/start.md"), want: pages},
		"the revision":                 {spec: ignore("Deployment", "/spec/template/metadata/annotations/view.zoetrope.github.io~1revision"), want: pod},
		"the volumes":                  {spec: ignore("Deployment", "/spec/template/spec/volumes"), want: pod},
		"a container":                  {spec: ignore("Deployment", "/spec/template/spec/containers/0"), want: pod},
		"the image":                    {spec: ignore("Deployment", "/spec/template/spec/containers/0/image"), want: pod},
		"the key of an entry":          {spec: ignore("Deployment", "/spec/template/spec/containers/0/env/0/name"), want: pod},
		"the ports":                    {spec: ignore("Service", "/spec/ports"), want: ports},
		"a kind that isn't generated":  {spec: ignore("Secret", "/data"), want: `target.kind: Unsupported value: "Secret"`},
		"no path":                      {spec: with("{ignore: [{target: {kind: Service}, paths: []}]}"), want: "should have at least 1 items"},
		"a rule for whatever there is": {spec: with("{ignore: [{paths: [/spec/type]}]}"), want: "spec.driftDetection.ignore[0].target: Required value"},
		"as many and long paths as there may be": {
			spec: with("{ignore: [" + strings.TrimSuffix(strings.Repeat("{target: {kind: Deployment}, paths: ["+
				strings.TrimSuffix(strings.Repeat("/"+strings.Repeat("a", 511)+", ", 16), ", ")+"]}, ", 16), ", ") + "]}"),
		},
	} {
		t.Run(title, func(t *testing.T) {
			err := j.create(manifests(t, []byte(viewManifest("a", test.spec)))[0])
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("it says %v, not %q", err, test.want)
			}
		})
	}
}
