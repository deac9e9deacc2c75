package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/test/cluster"
	"github.com/zoetrope/markdown-view/test/product"
)

// threePatches are what a cluster often demands: a strategic merge patch and a JSON patch
// of the Deployment, and one of the Service. Nothing of them needs another node.
const threePatches = `  commonMetadata:
    labels: {team: docs}
  patches:
  - target: {kind: Deployment}
    patch: |
      spec:
        template:
          spec:
            imagePullSecrets: [{name: registry}]
            tolerations: [{key: docs, operator: Exists}]
  - target: {kind: Deployment}
    patch: |
      - {op: add, path: /spec/template/spec/containers/0/args/-, value: --open}
  - target: {kind: Service}
    patch: |
      metadata:
        annotations: {example.com/load-balancer: internal}
      spec: {sessionAffinity: ClientIP}
`

func patchedDocument(i int) string {
	return strings.TrimRight(viewDocument(i), "\n") + "\n" + threePatches
}

// patched measures the function with patched views against the same views without
// patches.
func (b *bench) patched() error {
	list := func(document func(int) string) []byte {
		var list strings.Builder
		list.WriteString(listHead + "functionConfig:\n" + indent(fmt.Sprintf(transformer, b.fn)) + "items:\n")
		for i := range b.views {
			list.WriteString("- " + strings.TrimPrefix(indent(document(i)), "  "))
		}
		return []byte(list.String())
	}
	ours := command{args: []string{b.fn}, stdin: list(patchedDocument)}
	first, err := ours.run()
	if err != nil {
		return err
	}
	if got := strings.Count(string(first.written), "sessionAffinity: ClientIP\n"); got < b.views {
		return fmt.Errorf("the function patched %d Services, should be %d", got, b.views)
	}
	a, z, err := b.compare(ours, command{args: []string{b.fn}, stdin: list(viewDocument)})
	if err != nil {
		return err
	}
	b.report(fmt.Sprintf("fn, %d views of 2 KB with three patches / without", b.views), a, z, "")
	return nil
}

// patchedInCluster measures what a running controller takes for views with patches, beside
// as many without: of the processor, which the machine's other work changes less than the
// clock, and of requests.
func (b *bench) patchedInCluster(ctx context.Context, f *field) error {
	plain, err := f.made(ctx, "plain", viewDocument)
	if err != nil {
		return err
	}
	patched, err := f.made(ctx, "patched", patchedDocument)
	if err != nil {
		return err
	}
	b.results.add(
		row{fmt.Sprintf("controller, processor time of each of %d views with three patches until Ready / without", f.some()), duration(patched.processor), duration(plain.processor), ""},
		row{fmt.Sprintf("controller, requests of each of %d views with three patches until Ready / without", f.some()), number(patched.requests), number(plain.requests), "1"},
	)
	return nil
}

// some is how many views tell what a patch costs.
func (f *field) some() int { return min(f.views, 500) }

// cost is what a view took until it was Ready.
type cost struct {
	processor time.Duration
	requests  float64
}

// made makes views in a namespace of their own, waits until they are Ready, and returns
// what each of them took.
func (f *field) made(ctx context.Context, namespace string, document func(int) string) (cost, error) {
	if err := f.namespaces(ctx, namespace); err != nil {
		return cost{}, err
	}
	const processorTime = `process_cpu_seconds_total`
	since, err := f.Cluster.Mark(ctx)
	if err != nil {
		return cost{}, err
	}
	before, err := f.scrape(ctx, processorTime)
	if err != nil {
		return cost{}, err
	}
	for i := range f.some() {
		view := &v1.MarkdownView{}
		if err := yaml.UnmarshalStrict([]byte(document(i)), view); err != nil {
			return cost{}, err
		}
		view.Namespace = namespace
		if err := f.Client.Create(ctx, view); err != nil {
			return cost{}, err
		}
	}
	if err := f.allReadyIn(ctx, f.some(), namespace); err != nil {
		return cost{}, err
	}
	after, err := f.scrape(ctx, processorTime)
	if err != nil {
		return cost{}, err
	}
	requests, err := f.Cluster.Requests(ctx, since, cluster.By(product.User), cluster.In(namespace), cluster.Writes, cluster.Not(cluster.Events))
	if err != nil {
		return cost{}, err
	}
	views := float64(f.some())
	return cost{time.Duration((after - before) / views * float64(time.Second)), float64(len(requests)) / views}, nil
}

// allReadyIn waits until as many views in namespaces are. It lists one namespace after the other:
// to list all again and again took nearly a tenth of the machine from the controller, and not from the
// loop that it is compared with.
func (f *field) allReadyIn(ctx context.Context, views int, namespaces ...string) error {
	ready := 0
	return f.until(ctx, "the views to be Ready", func() (string, error) {
		if err := f.controller.Ended(ctx); err != nil {
			return "", err
		}
		for ; len(namespaces) > 0; namespaces = namespaces[1:] {
			var list v1.MarkdownViewList
			if err := f.Client.List(ctx, &list, client.InNamespace(namespaces[0])); err != nil {
				return "", err
			}
			for i := range list.Items {
				if view := &list.Items[i]; !conditions.IsTrue(view, meta.ReadyCondition) {
					return fmt.Sprintf("%s/%s isn't", view.Namespace, view.Name), nil
				}
			}
			ready += len(list.Items)
		}
		if ready < views {
			return "", fmt.Errorf("%d of %d views are there", ready, views)
		}
		return "", nil
	})
}
