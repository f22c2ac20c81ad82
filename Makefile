# Anymesh: `make` alone prints what one can do.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := $(CURDIR)/bin
CACHE := $(CURDIR)/.cache
export PATH := $(BIN):$(PATH)

# The same flags for all that is compiled, or it is compiled once for each set of flags. Only tests with the race detector
# need cgo (hack/test.sh).
export CGO_ENABLED := 0
export GOFLAGS := $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath
STRIP := -ldflags "-s -w"
# The program tells the commit that it was built from, where that is known.
RELEASE := -buildvcs=auto $(STRIP)
TOOL := go tool -modfile=$(CURDIR)/tools/go.mod

.PHONY: help
help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

##@ Build

# $(call compile,TEXT,OUTPUT,FLAGS,PACKAGE[,MODULE]) runs go build, and shows its progress.
compile = COUNT="go list -C $(or $(5),.) -deps $(4)" hack/progress.sh "building $(1)" go build -C $(or $(5),.) -v $(3) -o $(2) $(4)

.PHONY: build
build: $(BIN)/anymesh $(BIN)/anymesh-proxy $(BIN)/colors ## build anymesh, its proxy and the example's program

# Go itself knows what is up to date.
.PHONY: $(BIN)/anymesh $(BIN)/anymesh-proxy $(BIN)/colors $(BIN)/extended/anymesh $(BIN)/driver/anymesh $(BIN)/collector $(BIN)/attacker $(BIN)/proxyless
$(BIN)/anymesh:
	@$(call compile,anymesh,$@,$(RELEASE),./cmd/anymesh)
$(BIN)/anymesh-proxy:
	@$(call compile,the multi-protocol proxy,$@,$(RELEASE),./cmd/anymesh-proxy)
$(BIN)/colors:
	@$(call compile,the example's program,$@,,./examples/colors/app)

# Anymesh with a second dialect: for tests.
$(BIN)/extended/anymesh:
	@$(call compile,anymesh with a second dialect,$@,$(STRIP),./test/e2e/extended)

# Anymesh with more sidecar drivers, as third parties extend it: a module of its own.
$(BIN)/driver/anymesh:
	@$(call compile,anymesh with more drivers,$@,$(STRIP),.,examples/driver)

# A receiver of spans and metrics: for tests.
$(BIN)/collector:
	@$(call compile,a receiver of spans,$@,,./test/e2e/collector)

# Attacks from plain pods: for tests.
$(BIN)/attacker:
	@$(call compile,an attacker,$@,,./test/attacker)

# An application with a gRPC library that uses xDS: for tests.
$(BIN)/proxyless:
	@$(call compile,a gRPC application,$@,,./test/proxyless)

# Contour and the controllers of cert-manager, which the Route trait uses, and an ACME server: for tests. They are modules
# of their own.
$(BIN)/contour: test/contour/go.mod
	@$(call compile,Contour for tests,$@,$(STRIP),github.com/projectcontour/contour/cmd/contour,test/contour)
$(BIN)/certmanager: test/certmanager/go.mod $(wildcard test/certmanager/*.go)
	@$(call compile,cert-manager for tests,$@,$(STRIP),.,test/certmanager)

$(BIN)/pebble: test/pebble/go.mod
	@$(call compile,an ACME server for tests,$@,$(STRIP),github.com/letsencrypt/pebble/v2/cmd/pebble,test/pebble)

# A client with the resolver of musl: for tests.
$(BIN)/call-musl: test/e2e/callers/call.c
	@hack/packages.sh tests
	@mkdir -p $(BIN); musl-gcc -static -O1 -Wall -Wextra -Werror -o $@ $<

# Clients of the transport's tests in Python and Java, with their gRPC libraries.
$(BIN)/grpc-clients: hack/grpc-clients.sh $(wildcard internal/delivery/grpcserver/testdata/clients/*)
	@hack/packages.sh tests
	@hack/grpc-clients.sh $@

.PHONY: sandbox
sandbox: packages ## build the sandbox: Kubernetes in one program (minutes at first, then seconds)
	@COUNT="go list -C sandbox -deps ./cmd/sandbox" hack/progress.sh "building the sandbox (Kubernetes, etcd, CoreDNS)" sandbox/build.sh $(BIN)/anymesh-sandbox -v

.PHONY: envoy
envoy: $(BIN)/envoy $(BIN)/envoy-1.36 ## fetch the Envoy binary, and the oldest that is supported
$(BIN)/envoy: hack/envoy.sh hack/images/images.lock
	@hack/envoy.sh $(CACHE) $@
$(BIN)/envoy-1.36: hack/envoy.sh hack/images/images.lock
	@hack/envoy.sh $(CACHE) $@ 1.36.4

# The images of other architectures need the program built for them: "make images ARCHS=amd64" saves that.
# LOCKED=1 is for releases: a Debian package that is not as pinned is an error, not a warning.
ARCHS ?= amd64 arm64
.PHONY: images
images: $(ARCHS:%=$(BIN)/linux-%/anymesh) $(BIN)/hack/images packages ## write container images and their SBOMs to bin/images
	@$(WRITE_IMAGES) --archs "$(ARCHS)" $(if $(LOCKED),--locked)
WRITE_IMAGES := $(BIN)/hack/images build --bin $(BIN) --cache $(CACHE)

# The sandbox needs the images of this machine only: to compile everything for arm64 takes minutes.
.PHONY: images-here
images-here: $(BIN)/linux-amd64/anymesh $(BIN)/hack/images packages
	@$(WRITE_IMAGES) --archs amd64

.PHONY: $(BIN)/linux-amd64/anymesh $(BIN)/linux-arm64/anymesh
$(BIN)/linux-amd64/anymesh $(BIN)/linux-arm64/anymesh: $(BIN)/linux-%/anymesh:
	@export GOOS=linux GOARCH=$*; $(call compile,anymesh for linux/$*,$@,$(RELEASE),./cmd/anymesh)

# Programs that only this file runs. The images depend on the program that writes them: it must not depend on the commit.
.PHONY: $(BIN)/hack/images $(BIN)/hack/colors $(BIN)/hack/clusters
$(BIN)/hack/images:
	@$(call compile,the writer of images,$@,-buildvcs=false,./hack/images)
$(BIN)/hack/colors $(BIN)/hack/clusters: $(BIN)/hack/%:
	@$(call compile,the demo,$@,-buildvcs=false,./examples/$*/demo)

# The control plane and the images are for Linux. The CLI is for the machines that people sit at, too.
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
.PHONY: cli
cli: ## write the CLI of each platform and its man pages to bin/cli
	@set -e; for p in $(PLATFORMS); do out=$(BIN)/cli/anymesh-$${p/\//-}; [ $${p%/*} != windows ] || out=$$out.exe; \
		export GOOS=$${p%/*} GOARCH=$${p#*/}; $(call compile,$$out,$$out,$(RELEASE),./cmd/anymesh); done
	@go run ./docs/generate $(BIN)/cli/man

.PHONY: images-lock
images-lock: $(BIN)/hack/images packages ## pin the newest versions of the images' Debian packages
	@$(BIN)/hack/images lock && git diff --stat hack/images/images.lock

.PHONY: packages
packages: ## install what the sandbox needs of the system's packages
	@hack/packages.sh

.PHONY: all
all: build sandbox envoy images-here ## build and fetch what the demo and the tests need

##@ Run

# It takes minutes to compile Kubernetes: meanwhile, one can read what the demo is about.
DEMO_URL := http://color.colors.svc.cluster.local:8080/
.PHONY: demo-mesh
demo-mesh: $(BIN)/anymesh
	@echo "The mesh of the demo (anymesh graph -f examples/colors):"
	@anymesh graph -f examples/colors
	@echo; echo "A request of its front (anymesh explain -f examples/colors --from colors/front $(DEMO_URL)):"
	@anymesh explain -f examples/colors --from colors/front $(DEMO_URL)
	@echo

.PHONY: demo
demo: demo-mesh all $(BIN)/hack/colors ## one cluster, four services, shifting weights; ends by itself (SIDECAR=native for our own proxy)
	@$(BIN)/hack/colors --bin $(BIN) $(if $(SIDECAR),--sidecar $(SIDECAR))

.PHONY: demo-clusters
demo-clusters: build sandbox $(BIN)/hack/clusters ## two clusters behind one endpoint; one is cut off and comes back; ends by itself
	@$(BIN)/hack/clusters --bin $(BIN)

.PHONY: test
test: all $(BIN)/extended/anymesh $(BIN)/driver/anymesh $(BIN)/collector $(BIN)/attacker $(BIN)/proxyless $(BIN)/call-musl $(BIN)/grpc-clients $(BIN)/contour $(BIN)/certmanager $(BIN)/pebble ## all tests: units, cases, sandbox, end to end
	@hack/test.sh

.PHONY: test-unit
test-unit: envoy $(BIN)/grpc-clients ## tests that need no cluster
	@hack/test.sh unit

.PHONY: test-long
test-long: all $(BIN)/extended/anymesh $(BIN)/driver/anymesh $(BIN)/collector $(BIN)/attacker $(BIN)/proxyless $(BIN)/call-musl $(BIN)/grpc-clients $(BIN)/contour $(BIN)/certmanager $(BIN)/pebble ## make test, and the tests that take minutes each
	@hack/test.sh long
	@hack/arm64.sh

.PHONY: test-arm64
test-arm64: ## tests of the transport for linux/arm64, with an emulator (minutes)
	@hack/arm64.sh

.PHONY: fuzz
fuzz: ## every fuzz target for a while (FUZZTIME=60s)
	@hack/fuzz.sh

.PHONY: bench-controlplane
bench-controlplane: build sandbox $(BIN)/istiod ## what a change costs the control plane, and istiod beside it (minutes)
	@go run ./bench/controlplane --bin $(BIN) --istiod $(BIN)/istiod

.PHONY: bench-push
bench-push: ## what a push costs our gRPC server, and grpc-go beside it (a minute)
	@go run ./bench/push

.PHONY: bench-envoy
bench-envoy: envoy ## what a weight shift costs twenty Envoys, and how fast it takes effect (minutes; root)
	@for e in $(BIN)/envoy $(BIN)/envoy-1.36; do go run ./bench/envoy --envoy $$e; done

.PHONY: bench-proxy
bench-proxy: envoy $(BIN)/anymesh-proxy ## the multi-protocol proxy beside HAProxy, nginx and Envoy (2 minutes; two cores)
	@hack/proxies.sh $(CACHE)/proxies
	@go run ./bench/proxy --bin $(BIN) --peers $(CACHE)/proxies

.PHONY: bench-aggregate
bench-aggregate: build sandbox ## what the aggregator costs, and kube-apiserver beside it (15 minutes; root)
	@go run ./bench/aggregate --bin $(BIN)

.PHONY: bench-neighbors
bench-neighbors: all $(BIN)/attacker ## what an attack by plain pods costs a mesh (4 minutes; root)
	@go run ./bench/neighbors --bin $(BIN)

$(BIN)/istiod: bench/istiod/go.mod
	@$(call compile,istiod to compare with,$@,,istio.io/istio/pilot/cmd/pilot-discovery,bench/istiod)

##@ Keep

.PHONY: generate
generate: ## generate code, CRDs and pages again
	@go generate ./...

.PHONY: lint
lint: ## formatter, vet and linters
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	@$(TOOL) golangci-lint run ./...
	@for module in sandbox examples/driver; do (cd $$module && $(TOOL) golangci-lint run ./...) || exit; done

.PHONY: generated
generated: ## fail if generated files are not current
	@hack/generated.sh

.PHONY: cross
cross: ## compile for all platforms
	@hack/cross.sh $(PLATFORMS)

.PHONY: check
check: ## the quick part of CI: generated files, rules of the repository, lint
	@$(MAKE) --no-print-directory generated
	@go test ./test/presubmit
	@$(MAKE) --no-print-directory lint

.PHONY: vulncheck
vulncheck: ## known vulnerabilities in dependencies (asks vuln.go.dev)
	@$(TOOL) govulncheck ./...
	@for module in sandbox examples/driver; do (cd $$module && $(TOOL) govulncheck ./...) || exit; done

.PHONY: clean
clean: ## remove what was built and fetched
	rm -rf $(BIN) $(CACHE)
