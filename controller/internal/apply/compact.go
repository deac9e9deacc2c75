package apply

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// Compact replaces what is large of an object that carries our label by what is compared
// of it: each page by its digest, the fields of other field managers by theirs, and drops
// the annotations and labels that aren't ours if they are many. What it has made compact
// stays as it is. It is for caches, and for what the API server answers.
func Compact(object client.Object) {
	compactManagedFields(object)
	compactMetadata(object)
	configMap, isConfigMap := object.(*corev1.ConfigMap)
	if isConfigMap {
		for key, text := range configMap.Data {
			configMap.Data[key] = digested(text)
		}
		for key, content := range configMap.BinaryData {
			configMap.BinaryData[key] = []byte(digested(content))
		}
	}
	if !generatedFor(object) && sizeOf(object) > maxForeignBytes {
		forgetAllBut(object)
	}
}

const (
	// maxMetadataBytes is how many bytes of annotations, or of labels, are kept whatever
	// they are.
	maxMetadataBytes = 4 << 10
	// maxForeignBytes is how many bytes are kept of an object that carries our label and
	// no view owns. One that a view takes over is applied then, whatever it held.
	maxForeignBytes = 64 << 10
	// maxLastApplied is how long an annotation of kubectl apply may be to be kept.
	maxLastApplied = 16 << 10
	// maxRaw is how many other field managers' fields are kept as they are, if each has at
	// most maxRawBytes: it costs no request then to take them over.
	maxRaw, maxRawBytes = 4, 1 << 10
	// maxOwners is how many owners are kept that aren't the controller.
	maxOwners = 16
	// maxSelector is how many bytes a Deployment's selector may have that is kept of one that
	// isn't a view's.
	maxSelector = 4 << 10
	// maxManagers is how many other field managers are told apart.
	maxManagers = 64
)

// digestKey makes digests of this process, so that nobody can write a page that is taken
// for the digest of another one.
var digestKey = func() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	return key
}()

const digestPrefix = "digest:"

// digested is a page's digest, or the page itself if it is one.
func digested[T string | []byte](page T) string {
	if len(page) == len(digestPrefix)+2*sha256.Size && string(page[:len(digestPrefix)]) == digestPrefix {
		return string(page)
	}
	hash := hmac.New(sha256.New, digestKey)
	_, _ = hash.Write([]byte(page)) // it never fails
	return digestPrefix + hex.EncodeToString(hash.Sum(nil))
}

// comparedPages returns what is compared of an apply configuration: that of a ConfigMap has
// digests in the place of pages.
func comparedPages(desired any) any {
	configMap, ok := desired.(*corev1ac.ConfigMapApplyConfiguration)
	if !ok {
		return desired
	}
	compact := *configMap
	if configMap.Data != nil {
		compact.Data = make(map[string]string, len(configMap.Data))
	}
	for key, text := range configMap.Data {
		compact.Data[key] = digested(text)
	}
	if configMap.BinaryData != nil {
		compact.BinaryData = make(map[string][]byte, len(configMap.BinaryData))
	}
	for key, content := range configMap.BinaryData {
		compact.BinaryData[key] = []byte(digested(content))
	}
	return &compact
}

// comparedDesired is comparedPages of what is wanted of a child.
func (c *child) comparedDesired() any {
	if c.withDigests.of != c.desired {
		c.withDigests.of, c.withDigests.compared = c.desired, comparedPages(c.desired)
	}
	return c.withDigests.compared
}

// compactManagedFields keeps what our field manager has applied, and of all others what is
// little, or else that they have set something else than before.
func compactManagedFields(object client.Object) {
	entries := object.GetManagedFields()
	others := 0
	entries = slices.DeleteFunc(entries, func(entry metav1.ManagedFieldsEntry) bool {
		if isOurs(&entry) {
			return false
		}
		others++
		return others > maxManagers
	})
	raws := 0
	for i := range entries {
		entry := &entries[i]
		if isOurs(entry) || entry.FieldsV1 == nil {
			continue
		}
		if entry.Subresource != "" { // nobody reads what, or when
			entry.FieldsV1, entry.Time = ofSubresource, nil
			continue
		}
		if raws < maxRaw && len(entry.FieldsV1.GetRawBytes()) <= maxRawBytes {
			raws++
			continue
		}
		// A set of fields still: what reads all entries must be able to.
		if raw := entry.FieldsV1.GetRawBytes(); !isDigested(entry) {
			entry.FieldsV1 = metav1.NewFieldsV1(`{"f:` + digested(raw) + `":{}}`)
		}
	}
	object.SetManagedFields(entries)
}

// ofSubresource stands for the fields of a subresource.
var ofSubresource = metav1.NewFieldsV1(`{"f:` + digested("") + `":{}}`)

// isDigested reports whether an entry of managed fields holds but a digest of them.
func isDigested(entry *metav1.ManagedFieldsEntry) bool {
	return entry.FieldsV1 != nil && bytes.HasPrefix(entry.FieldsV1.GetRawBytes(), []byte(`{"f:`+digestPrefix))
}

// isOurs reports whether an entry is what our field manager has applied.
func isOurs(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Manager == generator.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// compactMetadata drops what isn't read of an object's metadata.
func compactMetadata(object client.Object) {
	object.SetFinalizers(nil)
	compactOwners(object)
	annotations := object.GetAnnotations()
	if lastApplied := annotations[corev1.LastAppliedConfigAnnotation]; lastApplied != "" {
		// Read of Deployments only: see keepLastApplied.
		if _, isDeployment := object.(*appsv1.Deployment); !isDeployment || len(lastApplied) > maxLastApplied {
			delete(annotations, corev1.LastAppliedConfigAnnotation)
		}
	}
	keepOwned(object, "annotations", annotations, corev1.LastAppliedConfigAnnotation, v1.EditedAnnotation, v1.LastServedAnnotation)
	labels := object.GetLabels()
	keepOwned(object, "labels", labels, "app.kubernetes.io/name", generator.InstanceLabel, createdByLabel)
}

// compactOwners keeps the controller of an object, and of the other owners the views, as far as
// they aren't longer, or more, than owners are.
func compactOwners(object client.Object) {
	others := 0
	var owners []metav1.OwnerReference
	for _, owner := range object.GetOwnerReferences() {
		isController, isLong := owner.Controller != nil && *owner.Controller, sizeOfOwner(&owner) > 2*maxWord
		switch {
		case isController && isLong:
			owner = BoundedOwner(&owner)
		case isController:
		case owner.Kind != v1.Kind, isLong, others == maxOwners:
			continue
		default:
			others++
		}
		owners = append(owners, owner)
	}
	object.SetOwnerReferences(owners)
}

func sizeOfOwner(owner *metav1.OwnerReference) int {
	return len(owner.APIVersion) + len(owner.Kind) + len(owner.Name) + len(owner.UID)
}

// keepOwned drops the keys of annotations or labels that our field manager doesn't own,
// and that aren't read, if they are many.
func keepOwned(object client.Object, field string, values map[string]string, read ...string) {
	if sizeOfMap(values) <= maxMetadataBytes {
		return
	}
	owned := ownedFields(object)
	for key := range values {
		if !slices.Contains(read, key) && !owned.Has(fieldpath.MakePathOrDie("metadata", field, key)) {
			delete(values, key)
		}
	}
}

// ownedFields are the fields that our field manager has applied.
func ownedFields(object client.Object) *fieldpath.Set {
	owned := &fieldpath.Set{}
	for _, entry := range object.GetManagedFields() {
		if isOurs(&entry) && entry.FieldsV1 != nil {
			if err := owned.FromJSON(strings.NewReader(entry.FieldsV1.GetRawString())); err != nil {
				return &fieldpath.Set{} // comparing tells
			}
		}
	}
	return owned
}

// generatedFor reports whether an object names a view as its controller, and has a name of
// that view's objects, of which there are few. Who forges that names a view that is there,
// which removes what it doesn't want, or has it garbage collected.
func generatedFor(object client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil || owner.Kind != v1.Kind || !isOurGroup(owner.APIVersion) {
		return false
	}
	if _, isConfigMap := object.(*corev1.ConfigMap); !isConfigMap {
		return object.GetName() == generator.ViewerName(owner.Name)
	}
	_, isCopy := generator.CutLast(object.GetName(), owner.Name)
	return isCopy || generator.IsPagesName(object.GetName(), owner.Name)
}

// forgetAllBut keeps what tells whose an object is.
func forgetAllBut(object client.Object) {
	labels := map[string]string{}
	for _, key := range []string{"app.kubernetes.io/name", generator.InstanceLabel, createdByLabel} {
		if value, there := object.GetLabels()[key]; there {
			labels[key] = value
		}
	}
	object.SetLabels(labels)
	object.SetAnnotations(nil)
	object.SetManagedFields(nil)
	switch o := object.(type) {
	case *corev1.ConfigMap:
		o.Data, o.BinaryData = nil, nil
	case *appsv1.Deployment:
		selector := o.Spec.Selector
		if selector.Size() > maxSelector {
			selector = nil
		}
		o.Spec, o.Status = appsv1.DeploymentSpec{Selector: selector}, appsv1.DeploymentStatus{}
	case *corev1.Service:
		o.Spec, o.Status = corev1.ServiceSpec{}, corev1.ServiceStatus{}
	}
}

// sizeOf is about how many bytes an object takes.
func sizeOf(object client.Object) int {
	sized, ok := object.(interface{ Size() int })
	if !ok {
		return 0
	}
	return sized.Size()
}

func sizeOfMap(values map[string]string) int {
	bytes := 0
	for key, value := range values {
		bytes += len(key) + len(value)
	}
	return bytes
}
