package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
	"github.com/zoetrope/markdown-view/test/cluster"
)

// rests waits until nothing is asked of the API server for so long: what a webhook has made of
// the objects of a view that can't be applied is found when these are looked at next, and who has
// changed an object again and again waits longer. Watches end now and then, and begin again.
func (s *soak) rests(while time.Duration) {
	s.Helper()
	for began := time.Now(); ; {
		before, since, from := s.snapshot(), s.mark(), time.Now()
		select {
		case <-time.After(while):
		case <-s.Context().Done():
		}
		requests, err := s.Cluster.Requests(s.Context(), since, cluster.By(controllerUser), cluster.Not(cluster.Leases),
			func(r cluster.Request) bool { return r.Verb != "watch" })
		s.must(err)
		s.Logf("%d requests in %s at rest", len(requests), while)
		if len(requests) == 0 {
			return
		}
		s.explain(requests, from, gocmp.Diff(before, s.snapshot()))
		if time.Since(began) > soakPatience {
			s.Fatalf("the controller doesn't rest")
		}
	}
}

// explain logs what was asked at rest, what it has changed, and what had happened to the views
// that it concerns.
func (s *soak) explain(requests []cluster.Request, since time.Time, changed string) {
	s.Helper()
	s.Logf("what has changed: %s", changed)
	for _, v := range s.views {
		if slices.ContainsFunc(requests, func(r cluster.Request) bool {
			return r.Namespace == v.tenant.namespace && slices.Contains([]string{v.name, "markdowns-" + v.name, generator.ViewerName(v.name)}, r.Name)
		}) {
			s.Logf("of which was asked: %s", v.story(s))
		}
	}
	for _, r := range requests {
		if !s.mayAsk(r) {
			s.Errorf("at rest it was asked for what is served: %s", r)
		}
		s.Logf("after %.1fs: %s", r.Received.Sub(since).Seconds(), r)
	}
}

// mayAsk reports whether a request at rest is for a view that can't be applied: what is kept of
// it may still have to be repaired.
func (s *soak) mayAsk(r cluster.Request) bool {
	name := regexp.MustCompile(`^(?:markdowns-|viewer-)?(docs-\d+)`).FindStringSubmatch(r.Name)
	return slices.ContainsFunc(s.views, func(v *soakView) bool {
		return r.Namespace == v.tenant.namespace && name != nil && v.name == name[1] && !slices.Contains(v.reasons(), v1.HealthyReason)
	})
}

// isRepaired checks, once the controller rests, that nothing is left of what was done to the
// objects of views that can't be applied, but for what can't be known any more.
func (s *soak) isRepaired() {
	s.Helper()
	for _, v := range s.views {
		if !v.exists || !v.served || v.taken != nil {
			continue
		}
		if damage := v.damage(); damage != "" {
			s.Errorf("%s at rest%s", damage, v.story(s))
		}
	}
}

// damage says what is left of what the soak's webhooks and actions do to objects, "" if nothing is.
func (v *soakView) damage() string {
	deployment, service, configMap := &appsv1.Deployment{}, &corev1.Service{}, &corev1.ConfigMap{}
	var damage []string
	if v.tenant.get(deployment, generator.ViewerName(v.name)) && !v.lostDeployment {
		damage = append(damage, relabelled(deployment, v.name))
		if period := *deployment.Spec.Template.Spec.TerminationGracePeriodSeconds; period == 77 || period == 99 && !v.forgotten {
			damage = append(damage, fmt.Sprintf("its Deployment gives pods %d seconds to end", period))
		}
	}
	if v.tenant.get(service, generator.ViewerName(v.name)) {
		damage = append(damage, relabelled(service, v.name))
		if port := service.Spec.Ports[0].Port; port != 80 {
			damage = append(damage, fmt.Sprintf("its Service has port %d", port))
		}
	}
	if v.tenant.get(configMap, "markdowns-"+v.name) && !v.lostPages {
		damage = append(damage, relabelled(configMap, v.name))
	}
	return strings.Join(slices.DeleteFunc(damage, func(one string) bool { return one == "" }), ", ")
}

// relabelled says that an object doesn't have the labels of its view, "" if it does.
func relabelled(object client.Object, view string) string {
	for key, value := range generator.Labels(view) {
		if object.GetLabels()[key] != value {
			return fmt.Sprintf("%T %s has the labels %v", object, object.GetName(), object.GetLabels())
		}
	}
	return ""
}

// snapshot is what there is of the tenants' objects, by kind and name.
func (s *soak) snapshot() map[string]string {
	s.Helper()
	all := map[string]string{}
	for _, tenant := range s.tenants {
		for _, list := range []client.ObjectList{&v1.MarkdownViewList{}, &corev1.ConfigMapList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}} {
			s.must(s.Client.List(s.Context(), list, client.InNamespace(tenant.namespace)))
			s.must(apimeta.EachListItem(list, func(item runtime.Object) error {
				text, err := json.MarshalIndent(item, "", " ")
				object := item.(client.Object)
				all[fmt.Sprintf("%T %s/%s", object, object.GetNamespace(), object.GetName())] = string(text)
				return err
			}))
		}
	}
	return all
}

// soakMeasure is what a process of the controller takes at rest.
type soakMeasure struct{ pid, goroutines, heap, resident int }

func (m soakMeasure) String() string {
	return fmt.Sprintf("process %d: %d goroutines, heap %.1f MB, resident %.1f MB", m.pid, m.goroutines, float64(m.heap)/1e6, float64(m.resident)/1e3)
}

// measure has the controller collect its garbage, and takes its measure.
func (s *soak) measure() {
	s.Helper()
	state, err := s.controller.State(s.Context())
	s.must(err)
	if !state.Running {
		s.Fatalf("the controller has ended: %s", state.Ended)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", state.PID))
	if err != nil {
		status = []byte("VmRSS: 0") // not on Linux
	}
	s.measured = append(s.measured, soakMeasure{
		pid:        state.PID,
		heap:       s.number(s.profile("heap?debug=1&gc=1"), `# HeapAlloc = (\d+)`),
		goroutines: s.number(s.profile("goroutine?debug=1"), `goroutine profile: total (\d+)`),
		resident:   s.number(string(status), `VmRSS:\s+(\d+)`),
	})
}

func (s *soak) profile(query string) string {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://"+s.metrics+"/debug/pprof/"+query, http.NoBody)
	s.must(err)
	response, err := http.DefaultClient.Do(request)
	s.must(err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	s.must(err)
	return string(text)
}

func (s *soak) number(text, pattern string) int {
	s.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		s.Fatalf("there is no %s", pattern)
	}
	number, err := strconv.Atoi(match[1])
	s.must(err)
	return number
}

// staysFlat compares what each process took first and last. What was kept of ConfigMaps that
// were read, and of artifacts, is bounded, but not full at first.
func (s *soak) staysFlat() {
	s.Helper()
	const moreGoroutines, moreHeap = 20, 16_000_000
	first := map[int]soakMeasure{}
	for _, m := range s.measured {
		if _, ok := first[m.pid]; !ok {
			first[m.pid] = m
		}
		before := first[m.pid]
		if m.goroutines > before.goroutines+moreGoroutines || m.heap > before.heap+moreHeap {
			s.Errorf("it isn't flat: first %s, then %s", before, m)
		}
	}
	s.Logf("measures of %d processes; the last: %s", len(first), s.measured[len(s.measured)-1])
}
