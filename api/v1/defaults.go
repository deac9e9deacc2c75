package v1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What holds for a field of the spec that isn't set.
const (
	DefaultReplicas int32 = 1
	DefaultInterval       = 10 * time.Minute
	DefaultTimeout        = 15 * time.Minute
)

// Default fills in what the API server would: the function sees views that never
// passed one.
func (v *MarkdownView) Default() {
	if v.Spec.Replicas == nil {
		replicas := DefaultReplicas
		v.Spec.Replicas = &replicas
	}
	if v.Spec.Interval == nil {
		v.Spec.Interval = &metav1.Duration{Duration: DefaultInterval}
	}
	if v.Spec.Timeout == nil {
		v.Spec.Timeout = &metav1.Duration{Duration: DefaultTimeout}
	}
	if v.Spec.DriftDetection != nil && v.Spec.DriftDetection.Mode == "" {
		detection := *v.Spec.DriftDetection // a copy: views share what they point to
		detection.Mode = DriftDetectionEnabled
		v.Spec.DriftDetection = &detection
	}
}
