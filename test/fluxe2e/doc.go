// Package fluxe2e tests the product with Flux's own source-controller and
// kustomize-controller and a real Git server: from a commit to a served page. `make
// e2e-flux` runs it; docs/flux.md says what it shows.
package fluxe2e
