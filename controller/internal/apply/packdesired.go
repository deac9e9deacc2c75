package apply

import (
	"encoding/json"
	"fmt"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// Packed returns what is wanted in a form that takes little memory, to be remembered: an
// apply configuration is many small allocations. What was patched stays as it is. That
// something was asked for isn't remembered.
func Packed(desired []Desired) ([]Desired, error) {
	all := make([]Desired, 0, len(desired))
	for _, d := range desired {
		if d.patched == nil && d.packed == nil {
			var err error
			if d, err = d.pack(); err != nil {
				return nil, fmt.Errorf("encode %s %s: %w", d.Kind, d.Name, err)
			}
		}
		d.asked = false
		all = append(all, d)
	}
	return all, nil
}

// pack has what is wanted encoded, and compressed.
func (d Desired) pack() (Desired, error) {
	whole := d.child()
	live, raw := whole.live, d.encoded
	if raw == nil {
		var err error
		if raw, err = json.Marshal(whole.desired); err != nil {
			return d, err
		}
	}
	d.packed = &packedDesired{kindOf(live), Word(live.GetNamespace()), RevisionOf([]Desired{d}), compress(kindOf(live), raw)}
	d.whole, d.encoded = nil, nil
	return d, nil
}

// packedDesired is what is wanted, encoded and compressed.
type packedDesired struct {
	kind                         int
	namespace, revision, encoded string
}

// child returns what is wanted, and the object that exists.
func (d *Desired) child() *child {
	if d.packed == nil {
		return d.whole()
	}
	whole, err := unpackDesired(d.packed.kind, d.packed.encoded)
	if err != nil {
		panic(fmt.Sprintf("decode what was encoded here: %v", err))
	}
	return whole.whole()
}

// unpackDesired undoes what pack has done.
func unpackDesired(kind int, encoded string) (Desired, error) {
	raw, err := decompress(kind, encoded)
	if err != nil {
		return Desired{}, err
	}
	switch kind {
	case configMaps:
		configuration := &corev1ac.ConfigMapApplyConfiguration{}
		err = json.Unmarshal(raw, configuration)
		return desiredConfigMap(configuration), err
	case deployments:
		configuration := &appsv1ac.DeploymentApplyConfiguration{}
		err = json.Unmarshal(raw, configuration)
		return desiredDeployment(configuration), err
	}
	configuration := &corev1ac.ServiceApplyConfiguration{}
	err = json.Unmarshal(raw, configuration)
	return desiredService(configuration), err
}

// stubOf is a child of which nothing is wanted yet.
func stubOf(kind int, namespace, name string) *child {
	switch kind {
	case configMaps:
		return desiredConfigMap(corev1ac.ConfigMap(name, namespace)).whole()
	case deployments:
		return desiredDeployment(appsv1ac.Deployment(name, namespace)).whole()
	}
	return desiredService(corev1ac.Service(name, namespace)).whole()
}

// stubOrChild returns the child, which may lack what is wanted until it is unpacked.
func (d *Desired) stubOrChild() *child {
	if d.packed == nil {
		return d.whole()
	}
	c := stubOf(d.packed.kind, d.packed.namespace, d.Name)
	c.wanted = d.child
	return c
}
