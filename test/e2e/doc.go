// Package e2e tests what the other tests can't: the pods. Real kubelet, real
// containers, the real mdBook, the controller as its Deployment from its image,
// and a browser. `make e2e` runs it; docs/e2e.md says what it needs.
package e2e
