package integration

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/zoetrope/markdown-view/test/cluster"
)

// TestAnOutageIsNoReasonToWrite takes the API server away from fifty views for a while.
// Afterwards everything is listed and looked at anew, and only what has drifted since is
// written. make bench does the same with thousands.
func TestAnOutageIsNoReasonToWrite(t *testing.T) {
	f := newCluster(t)
	f.controller("controller")
	const views = 50
	var names []string
	for i := range views {
		names = append(names, fmt.Sprintf("docs-%d", i))
		f.create(f.view(names[i]))
	}
	f.settled(names...)
	since := f.mark()
	server := f.component(cluster.APIServer)
	f.must(server.Stop(t.Context()))
	select {
	case <-time.After(5 * time.Second):
	case <-t.Context().Done():
	}
	f.must(server.Start(t.Context()))

	update(f, &corev1.Service{}, "viewer-docs-0", func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(99) })
	f.create(f.view("late"))
	f.eventually("the repair", func() string {
		service := &corev1.Service{}
		f.get(service, "viewer-docs-0")
		return differs(service.Spec.Ports[0].TargetPort.String(), "3000")
	})
	f.ready("late") // each of the controller's watches has told of it
	f.caughtUp()
	var others []cluster.Request
	repairs := 0
	for _, r := range f.requests(since) {
		switch {
		case !cluster.Writes(r) || r.Name == "late" || r.Name == "viewer-late" || r.Name == "markdowns-late":
		case r.Name == "viewer-docs-0":
			repairs++
		default:
			others = append(others, r)
		}
	}
	if len(others) > 0 || repairs != 1 {
		t.Errorf("%d writes repair what has drifted, and beside them there are:\n%s", repairs, lines(others))
	}
}
