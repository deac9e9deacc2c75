// Package corpus tests the promise of the product's first half over many small books:
// what a view's pod serves is, byte for byte, what mdBook makes of the folder itself.
//
// Each book is one kind of layout. The function expands it; its volumes are laid out as
// the kubelet does it; init containers and mdBook run as the pod says, in namespaces and
// a control group of their own.
package corpus
