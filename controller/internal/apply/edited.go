package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// A page that somebody edits in a ConfigMap is repaired within milliseconds. But a kubelet
// that looks at the ConfigMap before that mounts what it finds, and looks again a minute or
// more later. So where an edit may have been there for longer, or while pods started, the
// ConfigMap is marked before it is repaired, by a field manager of its own, which leaves
// what we own as it is generated; and pods are replaced by a mark on their template. What
// is on both is compared, so that a restart of the controller loses nothing.

// restarter is the field manager of the marks.
const restarter = generator.FieldManager + "-restart"

// quickRepair is how long an edit may have been there for no pod to have mounted it.
const quickRepair = 5 * time.Second

// isEdited reports whether found is a change that somebody else has made to pages which
// pods of what is wanted may have mounted. A ConfigMap that never was ours isn't edited, unless
// it says that it is the view's: kubectl replace --force makes another one like it. Nor is one
// whose pages a webhook changes each time, which makes them our manager's.
func (s *situation) isEdited(found drift) bool {
	live, ok := s.live.(*corev1.ConfigMap)
	if !ok || !s.exists() || !appliedByUs(live) && !metav1.IsControlledBy(live, s.view) {
		return false
	}
	if !found.hasUnwanted() && !found.touches("/data") && !found.touches("/binaryData") {
		return false
	}
	if others, webhook := writers(live); len(others) == 0 && webhook {
		return false
	}
	return !changesPages(s.child) || !hasRevisionKey(live)
}

func hasRevisionKey(configMap *corev1.ConfigMap) bool {
	for key := range configMap.Data {
		if generator.IsRevisionKey(key) {
			return true
		}
	}
	return false
}

// writers are the entries of whoever else has written pages and still owns some, not only
// labels or annotations; webhook means that a webhook has changed what we applied.
func writers(object metav1.Object) (others []metav1.ManagedFieldsEntry, webhook bool) {
	for _, entry := range object.GetManagedFields() {
		switch {
		case entry.Subresource != "", entry.Manager == restarter:
		case entry.Manager != generator.FieldManager:
			if ownsPages(&entry) {
				others = append(others, entry)
			}
		case entry.Operation == metav1.ManagedFieldsOperationUpdate:
			webhook = true
		}
	}
	return others, webhook
}

// ownsPages reports whether an entry owns pages, as far as that is known of it.
func ownsPages(entry *metav1.ManagedFieldsEntry) bool {
	var fields map[string]json.RawMessage
	if isDigested(entry) || entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
		return true
	}
	return fields["f:data"] != nil || fields["f:binaryData"] != nil
}

// mayBeMounted reports whether pods may have mounted an edit: it wasn't seen at once, or it
// isn't known that it was, or pods are starting.
func (s *situation) mayBeMounted() bool {
	if s.starting || s.last.at.IsZero() || s.last.distrusted {
		return true
	}
	if since := s.last.othersChanges().editedSince; !since.IsZero() && s.now.Sub(since) >= quickRepair {
		return true
	}
	others, _ := writers(s.live)
	return slices.ContainsFunc(others, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Time == nil || s.now.Sub(entry.Time.Time) >= quickRepair
	})
}

// keepsPredecessor reports whether the marks' manager holds what it once gave a ConfigMap back:
// another view of the name as its owner.
func (s *situation) keepsPredecessor() bool {
	return isPredecessors(s.view, s.live) && slices.ContainsFunc(s.live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == restarter
	})
}

// isMarked reports whether pods are to be replaced already, once there is peace.
func (s *situation) isMarked() bool {
	mark := markOf(s.live)
	return mark != "" && !slices.Contains(s.restarted, mark)
}

// maxMark is how long a mark may be, which is a resource version. Anyone may write another one.
const maxMark = 64

// marksSeparator stands between the marks that a Deployment has restarted its pods for.
const marksSeparator = ","

// markOf returns the mark of the last edit of a ConfigMap that pods may have mounted; empty if
// it has none.
func markOf(object metav1.Object) string {
	mark := object.GetAnnotations()[v1.EditedAnnotation]
	if len(mark) > maxMark || strings.Contains(mark, marksSeparator) {
		return ""
	}
	return mark
}

// restartedFor returns the marks that a Deployment has restarted its pods for.
func restartedFor(deployment *appsv1.Deployment) []string {
	return strings.Split(deployment.Spec.Template.Annotations[v1.RestartedForAnnotation], marksSeparator)
}

// Distrust notes that nobody has looked at the ConfigMaps for a while.
func (l *LastApplied) Distrust() { l.distrust(true) }

// Trust notes that they are as they were applied last.
func (l *LastApplied) Trust() { l.distrust(false) }

func (l *LastApplied) distrust(is bool) {
	for i := range l.objects {
		l.objects[i].distrusted = is
	}
}

// noteEdited notes since when an edit is known that couldn't be repaired yet.
func (l *LastApplied) noteEdited(s *situation) {
	f := l.of(s.String())
	if known := f.othersChanges(); !f.at.IsZero() && known.editedSince.IsZero() {
		known.editedSince = s.now
		f.noteOthers(known)
		l.note(s.String(), f)
		s.last = f
	}
}

// mark marks a ConfigMap that somebody has edited; if nobody has, it keeps the mark that it has.
// If it has also lost what says that it is the view's, it gets that back: an admission policy
// may let us write nothing else. Another controller stays, since an object has one at most: the
// next apply puts the view in its place, so the marks' manager must not hold it any longer.
func (a *Applier) mark(ctx context.Context, s *situation, edited bool) error {
	configuration := corev1ac.ConfigMap(s.live.GetName(), s.live.GetNamespace())
	if version := s.live.GetResourceVersion(); edited {
		configuration.WithAnnotations(map[string]string{v1.EditedAnnotation: version})
	} else if known := markOf(s.live); known != "" {
		configuration.WithAnnotations(map[string]string{v1.EditedAnnotation: known})
	}
	owner := metav1.GetControllerOfNoCopy(s.live)
	if !CarriesLabels(s.live, s.view.Name) || owner == nil {
		configuration.WithLabels(generator.Labels(s.view.Name))
		if owner == nil || owner.UID == s.view.UID {
			configuration.WithOwnerReferences(ownerOf(s.view))
		}
	}
	return staleVersion(a.applyAsRestarter(ctx, s.child, atVersion(configuration, s.live.GetUID(), s.live.GetResourceVersion())))
}

func (a *Applier) applyAsRestarter(ctx context.Context, c *child, configuration any) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(configuration); err != nil {
		return fmt.Errorf("encode the mark of %s: %w", c, err)
	}
	patch := client.RawPatch(types.ApplyPatchType, body.Bytes())
	if err := a.Writer.Patch(ctx, c.live, patch, client.FieldOwner(restarter), client.ForceOwnership); err != nil {
		return fmt.Errorf("mark %s: %w", c, err)
	}
	return nil
}

// Edits returns the marks of edits which pods of a Deployment may have mounted; none if
// they started later.
func (a *Applier) Edits(ctx context.Context, view *v1.MarkdownView, deployment *appsv1.Deployment, written *Expectations) ([]string, error) {
	var list corev1.ConfigMapList
	if err := a.Client.List(ctx, &list, OfView(view)...); err != nil {
		return nil, err
	}
	known := restartedFor(deployment)
	var marks []string
	isNew := false
	for i := range list.Items {
		var live client.Object = &list.Items[i]
		if !generator.IsPagesName(live.GetName(), view.Name) {
			continue // a copy
		}
		if latest := written.latest("ConfigMap "+live.GetName(), live, a.Clock.Now()); latest != nil {
			live = latest
		}
		if mark := markOf(live); mark != "" {
			marks = append(marks, mark)
			isNew = isNew || !slices.Contains(known, mark)
		}
	}
	if !isNew {
		return nil, nil
	}
	slices.Sort(marks)
	return slices.Compact(marks), nil
}

// Restart has the Deployment of a plan replace its pods, which may have mounted edits.
func (a *Applier) Restart(ctx context.Context, p *Plan, edits []string, written *Expectations) error {
	for _, step := range p.steps {
		s := step.situation
		deployment, ok := s.live.(*appsv1.Deployment)
		if !ok || !s.exists() {
			continue
		}
		configuration := appsv1ac.Deployment(deployment.Name, deployment.Namespace).WithSpec(appsv1ac.DeploymentSpec().
			WithTemplate(corev1ac.PodTemplateSpec().WithAnnotations(map[string]string{v1.RestartedForAnnotation: strings.Join(edits, marksSeparator)})))
		written.begin(s.String())
		err := a.applyAsRestarter(ctx, s.child, atVersion(configuration, deployment.UID, ""))
		if isStale(err) {
			written.expectChange(s.String(), deployment.ResourceVersion, a.Clock.Now())
		}
		var answer client.Object
		if err == nil {
			s.answer()
			answer = deployment
		}
		written.end(s.String(), answer, a.Clock.Now())
		return staleVersion(err)
	}
	return nil
}
