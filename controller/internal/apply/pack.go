package apply

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator"
)

// An object of ours is looked at many times, and compared with what is wanted only when it
// has changed. So caches hold it packed: with what tells whose it is, how it fares, and
// whether it has changed; the rest of it is encoded, and compressed with an object like it
// as the dictionary, which leaves some hundred bytes.

// packed is the operation of the one entry of a packed object's managed fields, which no
// object of an API server can have: it holds the rest of the object, after a digest of what
// somebody can change of it on purpose. Its manager is ours if we have applied the object.
const packed metav1.ManagedFieldsOperationType = "Packed"

// Pack makes an object compact, and packs it. It is for caches.
func Pack(object client.Object) {
	if packedEntry(object) != nil {
		return
	}
	Compact(object)
	rest, err := encodeRest(object)
	if err != nil {
		return // it is compact
	}
	entry := metav1.ManagedFieldsEntry{Operation: packed}
	if appliedByUs(object) {
		entry.Manager = generator.FieldManager
	}
	entry.FieldsV1 = metav1.NewFieldsV1(rest)
	leaveRead(object)
	object.SetManagedFields([]metav1.ManagedFieldsEntry{entry})
}

// encodedRests has what was encoded last, by what it was encoded from: most events of a
// rollout are of a Deployment's status.
var encodedRests = newShared[digest, string](512)

// encodeRest returns the rest of an object that is packed, after the digest.
func encodeRest(object client.Object) (string, error) {
	buffer := encodeBuffers.Get().(*[]byte)
	defer encodeBuffers.Put(buffer)
	raw, err := withoutStatus(object, buffer)
	if err != nil {
		return "", err
	}
	is := liveDigest(object) // before anything is left out
	hash := sha256.New()
	_, _ = hash.Write(is[:]) // it never fails
	_, _ = hash.Write(raw)
	of := digest(hash.Sum(nil))
	if rest, known := encodedRests.known(of); known {
		return rest, nil
	}
	encoded, err := deflate(kindOf(object), raw)
	if err != nil {
		return "", err
	}
	return encodedRests.of(of, string(is[:])+string(encoded)), nil
}

// unpack undoes Pack: the object is compact then.
func unpack(object client.Object) error {
	entry := packedEntry(object)
	if entry == nil {
		return nil
	}
	raw, err := inflate(kindOf(object), entry.FieldsV1.GetRawBytes()[len(digest{}):])
	if err == nil {
		err = decodeInto(object, raw)
	}
	if err != nil {
		return fmt.Errorf("unpack %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	return nil
}

// Unpacked returns all that is known of a Deployment that was read from a cache.
func Unpacked(deployment *appsv1.Deployment) (*appsv1.Deployment, error) {
	if packedEntry(deployment) == nil {
		return deployment, nil
	}
	whole := deployment.DeepCopy()
	return whole, unpack(whole)
}

// packedEntry is that of a packed object; nil if it isn't packed.
func packedEntry(object client.Object) *metav1.ManagedFieldsEntry {
	if entries := object.GetManagedFields(); len(entries) == 1 && entries[0].Operation == packed {
		return &entries[0]
	}
	return nil
}

// leaveRead leaves of an object what is read of it while it is packed.
func leaveRead(object client.Object) {
	object.SetLabels(SharedLabels(object.GetLabels()))
	object.SetAnnotations(only(object.GetAnnotations(), v1.ReturnedFromAnnotation, v1.EditedAnnotation, v1.LastServedAnnotation))
	object.SetOwnerReferences(sharedOwner(metav1.GetControllerOfNoCopy(object)))
	switch o := object.(type) {
	case *corev1.ConfigMap:
		*o = corev1.ConfigMap{ObjectMeta: o.ObjectMeta}
	case *corev1.Service:
		*o = corev1.Service{ObjectMeta: o.ObjectMeta}
	case *appsv1.Deployment:
		spec := &o.Spec
		template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
			Annotations: SharedRevision(only(spec.Template.Annotations, v1.RevisionAnnotation, v1.RestartedForAnnotation)),
		}}
		*spec = appsv1.DeploymentSpec{
			Replicas: spec.Replicas, Paused: spec.Paused, ProgressDeadlineSeconds: spec.ProgressDeadlineSeconds, Template: template,
		}
		o.Status.Conditions = telling(o.Status.Conditions)
	}
}

// only returns some keys of a map; nil if none is there.
func only(values map[string]string, keys ...string) map[string]string {
	var left map[string]string
	for _, key := range keys {
		if value, there := values[key]; there {
			if left == nil {
				left = map[string]string{}
			}
			left[key] = value
		}
	}
	return left
}

// deflate compresses an encoded object of a kind.
func deflate(kind int, raw []byte) ([]byte, error) {
	var buffer bytes.Buffer
	writer, err := compressor(kind, &buffer)
	if err != nil {
		return nil, err
	}
	defer compressors[kind].Put(writer)
	if _, err := writer.Write(raw); err != nil {
		return nil, err
	}
	err = writer.Close()
	return bytes.Clone(buffer.Bytes()), err
}

// inflate undoes deflate.
func inflate(kind int, encoded []byte) ([]byte, error) {
	reader, err := decompressor(kind, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	defer decompressors[kind].Put(reader)
	return io.ReadAll(reader)
}

// encodeBuffers are reused: each event of a rollout has a Deployment encoded.
var encodeBuffers = sync.Pool{New: func() any { return new([]byte) }}

// withoutStatus encodes an object without its status, and without the version, which changes
// with that. What it returns is in the buffer, which grows for it.
func withoutStatus(object client.Object, buffer *[]byte) ([]byte, error) {
	defer object.SetResourceVersion(object.GetResourceVersion())
	object.SetResourceVersion("")
	var encoder interface {
		Size() int
		MarshalToSizedBuffer(buffer []byte) (int, error)
	}
	switch o := object.(type) {
	case *corev1.ConfigMap:
		encoder = o
	case *corev1.Service:
		status := o.Status
		defer func() { o.Status = status }()
		o.Status = corev1.ServiceStatus{}
		encoder = o
	case *appsv1.Deployment:
		status := o.Status
		defer func() { o.Status = status }()
		o.Status = appsv1.DeploymentStatus{}
		encoder = o
	default:
		return nil, fmt.Errorf("%T isn't ours", object)
	}
	size := encoder.Size()
	*buffer = slices.Grow((*buffer)[:0], size)[:size]
	_, err := encoder.MarshalToSizedBuffer(*buffer)
	return *buffer, err
}

// decodeInto reads what withoutStatus has written into an object, whose status and version
// stay.
func decodeInto(into client.Object, raw []byte) error {
	version := into.GetResourceVersion()
	defer func() { into.SetResourceVersion(version) }()
	switch o := into.(type) {
	case *corev1.ConfigMap:
		*o = corev1.ConfigMap{}
		return o.Unmarshal(raw)
	case *corev1.Service:
		status := o.Status
		*o = corev1.Service{}
		err := o.Unmarshal(raw)
		o.Status = status
		return err
	case *appsv1.Deployment:
		status := o.Status
		*o = appsv1.Deployment{}
		err := o.Unmarshal(raw)
		o.Status = status
		return err
	}
	return errors.ErrUnsupported
}
