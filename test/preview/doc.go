// Package preview serves a view's book on this machine, as its pods would: the function
// expands the view, the volumes are laid out as the kubelet does it, and mdBook is run
// with the pod's arguments and environment. When an input changes, so does the book.
package preview
