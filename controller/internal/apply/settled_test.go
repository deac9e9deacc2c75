package apply

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// settle has a view that was applied leave drift as it is.
func (f *fixture) settle(mode v1.DriftDetectionMode) {
	f.Helper()
	f.view.Spec.DriftDetection = &v1.DriftDetection{Mode: mode}
	f.applied()
	f.reported()
	f.Requests()
}

// reported notes in the view's status what was applied, as the loop does.
func (f *fixture) reported() {
	f.Helper()
	var err error
	f.view.Status.LastAppliedDigest, err = DigestOf(f.view, f.desired())
	f.Must(err)
}

// drifts lists what a report says is left so.
func (r Report) drifts() []string {
	var messages []string
	for _, d := range r.Drifts {
		messages = append(messages, d.Message)
	}
	return messages
}

func TestDriftIsLeftAsItIs(t *testing.T) {
	tests := map[string]struct {
		edit    func(*fixture)
		message string
	}{
		"a page is edited": {
			edit: func(f *fixture) {
				edit(f, "kubectl-edit", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Other\n" })
			},
			message: "ConfigMap markdowns-docs was changed and is left so: /data/start.md",
		},
		"somebody adds a key to the pages": {
			edit: func(f *fixture) {
				edit(f, "anyone", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["foreign"] = "" })
			},
			message: "ConfigMap markdowns-docs was changed and is left so: /data/foreign",
		},
		"a person adds a key to the pages with kubectl edit": {
			edit: func(f *fixture) {
				edit(f, "kubectl-edit", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["foreign"] = "" })
			},
			message: "ConfigMap markdowns-docs was changed and is left so: /data/foreign",
		},
		"a person adds a field with kubectl edit": {
			edit: func(f *fixture) {
				edit(f, "kubectl-edit", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 7 })
			},
			message: "Deployment viewer-docs was changed and is left so: /spec/minReadySeconds",
		},
		"a Deployment is scaled": {
			edit:    func(f *fixture) { f.scaleTo(4) },
			message: "Deployment viewer-docs was changed and is left so: /spec/replicas",
		},
		"pods are given another image": {
			edit: func(f *fixture) {
				edit(f, "anyone", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "x" })
			},
			message: "Deployment viewer-docs was changed and is left so: /spec/template/spec/containers/0/image",
		},
		"the owner reference is removed": {
			edit: func(f *fixture) {
				edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.OwnerReferences = nil })
			},
			message: "Service viewer-docs was changed and is left so: /metadata/ownerReferences",
		},
		"an object loses its labels": {
			edit: func(f *fixture) {
				edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Labels = nil })
			},
			message: "Service viewer-docs was deleted, or has lost its labels, and isn't applied again",
		},
		"an object is deleted": {
			edit: func(f *fixture) {
				f.Must(f.Admin.Delete(f.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "markdowns-docs"}}))
			},
			message: "ConfigMap markdowns-docs was deleted, or has lost its labels, and isn't applied again",
		},
		"a person sets what is there already": {
			edit: func(f *fixture) {
				edit(f, "anyone", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Other\n" })
				edit(f, "anyone", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Start\n" })
				before := f.deployment()
				edit(f, "anyone", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers = nil })
				edit(f, "anyone", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) {
					d.Spec.Template.Spec.Containers = before.Spec.Template.Spec.Containers
				})
			},
		},
		"somebody sets what others may set": {
			edit: func(f *fixture) {
				edit(f, "kubectl-annotate", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Annotations = map[string]string{"team": "docs"} })
			},
		},
	}
	for name, test := range tests {
		for _, mode := range []v1.DriftDetectionMode{v1.DriftDetectionWarn, v1.DriftDetectionDisabled} {
			t.Run(fmt.Sprintf("%s, %s", name, mode), func(t *testing.T) {
				f := newFixture(t)
				f.applied()
				f.settle(mode)
				f.seen()
				test.edit(f)
				want := []string{test.message}
				if mode == v1.DriftDetectionDisabled || test.message == "" {
					want = nil
				}
				report := f.applied()
				if diff := cmp.Diff(want, report.drifts()); diff != "" {
					t.Error(diff)
				}
				for name, forget := range map[string]func(){"at another look": func() {}, "after the interval": f.passInterval} {
					if forget(); len(f.applied().Drifts) > 0 {
						t.Errorf("%s it is told again", name)
					}
				}
				told := f.last.Drifted()
				f.last = LastApplied{}
				f.applied()
				if again := f.last.Drifted(); again != told || (told != "") != (want != nil) {
					t.Errorf("after a restart %q is known, before it was %q", again, told)
				}
				if writes := f.Requests(); len(writes) > 0 {
					t.Errorf("written: %v", writes)
				}
			})
		}
	}
}

// TestPlannedDriftReplacesNoPods has a plan that leaves another image as it is: it needs no
// rollout slot.
func TestPlannedDriftReplacesNoPods(t *testing.T) {
	f := newFixture(t)
	f.settle(v1.DriftDetectionWarn)
	edit(f, "anyone", &appsv1.Deployment{}, "viewer-docs", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "x" })
	plan, err := f.Plan(t.Context(), f.view, f.desired(), &f.last, &f.wrote)
	f.Must(err)
	if f.replacesPods(plan) || len(plan.Writes()) > 0 {
		t.Errorf("it replaces pods, or writes %v", plan.Writes())
	}
}

func TestSettledViewIsAppliedAnew(t *testing.T) {
	drifted := func(f *fixture) {
		f.scaleTo(4)
		edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Spec.Type = "NodePort" })
		f.applied()
	}
	all := []string{"apply ConfigMap markdowns-docs", "apply Deployment viewer-docs", "apply Service viewer-docs"}
	tests := map[string]struct {
		change func(*fixture)
		writes []string
	}{
		"a page is changed": {
			change: func(f *fixture) { f.view.Spec.Markdowns["start.md"] = "# Changed\n" }, writes: all,
		},
		"it is scaled": {
			change: func(f *fixture) { f.view.Spec.Replicas = new(int32(2)) }, writes: all[1:],
		},
		"drift is to be undone": {
			change: func(f *fixture) { f.view.Spec.DriftDetection = nil }, writes: all[1:],
		},
		"drift isn't to be looked for": {
			change: func(f *fixture) { f.view.Spec.DriftDetection.Mode = v1.DriftDetectionDisabled },
		},
		"something that isn't about the objects is changed": {
			change: func(f *fixture) { f.view.Spec.Interval = &metav1.Duration{Duration: time.Minute} },
		},
		"a field is left to others": {
			change: func(f *fixture) {
				f.view.Spec.DriftDetection.Ignore = []v1.IgnoreRule{{Target: v1.PatchTarget{Kind: "Deployment"}, Paths: []string{"/spec/replicas"}}}
			},
			writes: all[2:],
		},
	}
	for name, test := range tests {
		for restart, forget := range map[string]func(*fixture){"": func(*fixture) {}, ", after a restart": func(f *fixture) { f.last = LastApplied{} }} {
			t.Run(name+restart, func(t *testing.T) {
				f := newFixture(t)
				f.settle(v1.DriftDetectionWarn)
				drifted(f)
				forget(f)
				test.change(f)
				f.applied()
				if diff := cmp.Diff(test.writes, f.Requests()); diff != "" {
					t.Error(diff)
				}
				if len(test.writes) > 0 && f.last.Drifted() != "" {
					t.Errorf("it still differs: %s", f.last.Drifted())
				}
				if report := f.applied(); len(report.Written) > 0 {
					t.Errorf("written again: %v", report.Written)
				}
			})
		}
	}
}

// TestUnknownViewIsApplied has nothing be known of a view's last apply.
func TestUnknownViewIsApplied(t *testing.T) {
	f := newFixture(t)
	f.settle(v1.DriftDetectionWarn)
	f.scaleTo(4)
	f.view.Status.LastAppliedDigest = ""
	f.last = LastApplied{}
	f.applied()
	if diff := cmp.Diff([]string{"apply Deployment viewer-docs"}, f.Requests()); diff != "" {
		t.Error(diff)
	}
}

func TestAnotherOwnerIsNoDrift(t *testing.T) {
	f := newFixture(t)
	f.settle(v1.DriftDetectionWarn)
	edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.OwnerReferences[0].UID, s.OwnerReferences[0].Kind = "theirs", "App" })
	if _, err := f.apply(); err == nil {
		t.Error("what another controller owns is taken for the view's")
	}
}

func TestDriftThatAWebhookMakesIsTold(t *testing.T) {
	f := newFixture(t)
	f.Mutate = func(fields map[string]any) {
		if fields["kind"] == "Service" {
			fields["spec"].(map[string]any)["type"] = "NodePort"
		}
	}
	f.view.Spec.DriftDetection = &v1.DriftDetection{Mode: v1.DriftDetectionWarn}
	report := f.applied()
	if diff := cmp.Diff([]string{"Service viewer-docs was changed and is left so: /spec/type"}, report.drifts()); diff != "" {
		t.Error(diff)
	}
	f.reported()
	f.Requests()
	f.passInterval()
	if report := f.applied(); len(report.Drifts) > 0 || len(f.Requests()) > 0 {
		t.Errorf("it is told again, or fought: %v", report)
	}
}

// TestHostileEditsAreToldOfSeldom has somebody change an object every three seconds for ten minutes,
// each time differently.
func TestHostileEditsAreToldOfSeldom(t *testing.T) {
	edits := map[string]func(f *fixture, second int){
		"another key each time": func(f *fixture, second int) {
			edit(f, "hostile", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data[fmt.Sprint("foreign-", second)] = "" })
		},
		"another value of the same field": func(f *fixture, second int) { f.scaleTo(int32(second) + 2) },
		"there and back": func(f *fixture, second int) {
			edit(f, "hostile", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) {
				s.OwnerReferences = nil
				if second%2 == 0 {
					s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(f.view, v1.GroupVersion.WithKind(v1.Kind))}
				}
			})
		},
	}
	for name, change := range edits {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.settle(v1.DriftDetectionWarn)
			told, texts, before := 0, 0, ""
			for second := range 200 {
				change(f, second)
				f.clock.SetTime(f.clock.Now().Add(3 * time.Second))
				told += len(f.applied().Drifts)
				if now := f.last.Drifted(); now != before {
					texts, before = texts+1, now
				}
			}
			if told == 0 || told > 12 || texts > 12 {
				t.Errorf("in ten minutes it is told %d times, in %d words", told, texts)
			}
			if writes := f.Requests(); len(writes) > 0 {
				t.Errorf("written: %v", writes)
			}
			f.clock.SetTime(f.clock.Now().Add(maxFightDelay))
			f.applied()
			now, err := f.situation("Service", nil).drift()
			f.Must(err)
			last := f.last.of("Service viewer-docs")
			if drifted := last.othersChanges().drifted; last != (fingerprint{}) && drifted.String() != now.String() {
				t.Errorf("in the end it is known as %s, and is %s", drifted, now)
			}
		})
	}
}

func TestKeptObjectsAreLeftAsTheyAre(t *testing.T) {
	for name, restart := range map[string]bool{"remembered": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.settle(v1.DriftDetectionWarn)
			remembered := f.desired()[1:]
			if restart {
				remembered = nil
				f.last = LastApplied{}
			}
			edit(f, "kubectl-edit", &corev1.ConfigMap{}, "markdowns-docs", func(c *corev1.ConfigMap) { c.Data["start.md"] = "# Other\n" })
			edit(f, "anyone", &corev1.Service{}, "viewer-docs", func(s *corev1.Service) { s.Spec.Type = "NodePort" })
			keep := func(replicas int32) {
				kept, err := f.Kept(t.Context(), f.view, []string{"markdowns-docs"}, remembered, &f.last, &f.wrote)
				f.Must(err)
				scaled, err := Scaled(kept.Objects, replicas)
				f.Must(err)
				plan, err := f.Plan(t.Context(), f.view, scaled, &f.last, &f.wrote)
				f.Must(err)
				_, err = f.Execute(t.Context(), plan)
				f.Must(err)
			}
			keep(1)
			if writes := f.Requests(); len(writes) > 0 {
				t.Errorf("written: %v", writes)
			}
			keep(3)
			if got := *f.deployment().Spec.Replicas; got != 3 {
				t.Errorf("it has %d replicas", got)
			}
		})
	}
}

func TestOthersConfigMapsAreLeftWhereDriftIs(t *testing.T) {
	for mode, stays := range map[v1.DriftDetectionMode]bool{v1.DriftDetectionEnabled: false, v1.DriftDetectionWarn: true, v1.DriftDetectionDisabled: true} {
		t.Run(string(mode), func(t *testing.T) {
			theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "docs", Name: "markdowns-docs.7", Labels: generator.Labels("docs")}}
			f := newFixture(t, theirs)
			f.view.Spec.DriftDetection = &v1.DriftDetection{Mode: mode}
			f.applied()
			f.Requests()
			_, _, err := f.Prune(t.Context(), f.view, []string{"markdowns-docs"}, &f.last, &f.wrote)
			f.Must(err)
			if got := len(f.Requests()) == 0; got != stays {
				t.Errorf("it stays: %t", got)
			}
			// Our own goes in any mode.
			deleted, _, err := f.Prune(t.Context(), f.view, nil, &f.last, &f.wrote)
			f.Must(err)
			if len(deleted) != 1 {
				t.Errorf("deleted: %v", deleted)
			}
		})
	}
}
