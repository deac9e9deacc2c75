package apply

import (
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// What the objects of a view have in common is in memory once: its labels, the reference to
// it, the annotation with its revision; and what those of most views have, the words of
// conditions.

// shared has the values that were asked for last, by their keys. Nobody changes them: they
// are in caches. Its zero value isn't of use.
type shared[K comparable, V any] struct {
	mu           sync.Mutex
	recent, less map[K]V
	limit        int
}

func newShared[K comparable, V any](limit int) *shared[K, V] {
	return &shared[K, V]{recent: map[K]V{}, limit: limit}
}

// of returns the value that a key has, or else gets.
func (s *shared[K, V]) of(key K, value V) V {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.recent[key]; ok {
		return known
	}
	if known, ok := s.less[key]; ok {
		value = known
	}
	if len(s.recent) >= s.limit {
		s.recent, s.less = make(map[K]V, s.limit), s.recent
	}
	s.recent[key] = value
	return value
}

// At least as many views share what is theirs: when a process starts, the objects of all
// come kind by kind.
const sharingViews = 16 << 10

// maxWord is how long a string may be to be shared.
const maxWord = 256

var (
	labelsByView = newShared[string, map[string]string](sharingViews)
	ownersByUID  = newShared[ownerKey, []metav1.OwnerReference](sharingViews)
	byRevision   = newShared[string, map[string]string](sharingViews)
	words        = newShared[string, string](1 << 10)
)

type ownerKey struct {
	apiVersion, kind, name string
	uid                    types.UID
}

// SharedLabels returns of labels those that views' objects have.
func SharedLabels(labels map[string]string) map[string]string {
	view := labels[generator.InstanceLabel]
	wanted := generator.Labels(view)
	left := make(map[string]string, len(wanted))
	complete := len(view) <= maxWord
	for key, value := range wanted {
		got, there := labels[key]
		if there {
			left[key] = got
		}
		complete = complete && got == value
	}
	if !complete {
		return left
	}
	return labelsByView.of(view, wanted)
}

// BoundedOwner returns what tells the controller of an object. The API server takes names and
// UIDs of any length for an owner; what is cut is nobody's.
func BoundedOwner(owner *metav1.OwnerReference) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: Word(cut(owner.APIVersion)), Kind: Word(cut(owner.Kind)), Name: cut(owner.Name),
		UID: types.UID(cut(string(owner.UID))), Controller: new(true),
	}
}

// cut returns no more of a text than a word may have, in whole characters: it gets into
// statuses, and JSON has others for those that aren't.
func cut(text string) string {
	if len(text) <= maxWord {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:maxWord], ""))
}

// sharedOwner returns what tells the controller of an object.
func sharedOwner(owner *metav1.OwnerReference) []metav1.OwnerReference {
	if owner == nil {
		return nil
	}
	left := []metav1.OwnerReference{BoundedOwner(owner)}
	if len(owner.APIVersion)+len(owner.Kind)+len(owner.Name)+len(owner.UID) > maxWord {
		return left
	}
	return ownersByUID.of(ownerKey{owner.APIVersion, owner.Kind, owner.Name, owner.UID}, left)
}

// SharedRevision returns annotations of a pod, or of its template.
func SharedRevision(annotations map[string]string) map[string]string {
	revision := annotations[v1.RevisionAnnotation]
	if len(annotations) != 1 || revision == "" || len(revision) > maxWord {
		return annotations
	}
	return byRevision.of(revision, annotations)
}

// Word returns a string that many objects have.
func Word(text string) string {
	if len(text) > maxWord {
		return text
	}
	return words.of(text, text)
}

// telling returns of a Deployment's conditions what is read: how far its rollout is, and why
// pods can't be created.
func telling(conditions []appsv1.DeploymentCondition) []appsv1.DeploymentCondition {
	var kept []appsv1.DeploymentCondition
	for i := range conditions {
		c := &conditions[i]
		told := appsv1.DeploymentCondition{
			Type: appsv1.DeploymentConditionType(Word(string(c.Type))), Status: corev1.ConditionStatus(Word(string(c.Status))), Reason: Word(c.Reason),
		}
		switch c.Type {
		case appsv1.DeploymentReplicaFailure:
			told.Message = c.Message
			kept = append(kept, told)
		case appsv1.DeploymentProgressing:
			kept = append(kept, told)
		}
	}
	return slices.Clip(kept)
}
