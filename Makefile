# `make run` and `make test` set everything up; `make help` lists the rest.
SHELL = /bin/sh
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.SUFFIXES:

GO ?= go
PREFIX ?= /usr/local
DESTDIR ?=
FUZZTIME ?= 10s
TESTFLAGS ?=
PKGS ?= ./...
RUNTIME ?= .cache/runtime
TARGET ?= full
IMAGE ?= hermes:$(TARGET)

STATICCHECK_VERSION = v0.8.2
# The newest release all of whose dependencies the module proxy serves.
GOLANGCI_VERSION = v2.14.0

# What hermes carries.
EMBEDDED = hermes-guest hermes-init hermes-shim
EMBEDDED_ARCHES = amd64 arm64
VET_PLATFORMS = linux/amd64 linux/arm64 darwin/arm64 windows/amd64

export CGO_ENABLED = 0
# The version is stamped below; Go's own stamping fails where git distrusts the directory's owner.
BUILDFLAGS = -trimpath -buildvcs=false

# Checked while make reads this file, so that a missing Go costs one line and nothing half done.
ifneq (,$(filter-out help clean runtime runtime-lock,$(or $(MAKECMDGOALS),help)))
GO_PROBLEM := $(shell sh scripts/need-go.sh "$(GO)")
ifneq (,$(GO_PROBLEM))
$(error $(GO_PROBLEM))
endif
endif

.PHONY: help run build guest web install dist dist-check image test test-image faults escapes test-network test-faults soak lint staticcheck vet fuzz bench cover generate clean certificates runtime runtime-lock lock lock-table

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' Makefile

run: build ## build, then run the whole home on this machine (hermes up) and print where to look
	@if [ "$$(id -u)" = 0 ] && [ -z "$$HERMES_ALLOW_ROOT_GATEWAY" ]; then \
		echo "make: as root, so the services run as root too (HERMES_ALLOW_ROOT_GATEWAY=0: as the user hermes)" >&2; \
		HERMES_ALLOW_ROOT_GATEWAY=1; export HERMES_ALLOW_ROOT_GATEWAY; fi; \
	exec bin/hermes up

build: guest web ## build bin/hermes
	@mkdir -p bin
	@$(GO) build $(BUILDFLAGS) -ldflags "-s -w $$(sh scripts/stamp.sh)" -o bin/hermes ./cmd/hermes

# The small programs carry no stamp: the same source gives the same bytes, whatever the commit. Go links into
# .cache and leaves an up-to-date file alone; only different bytes are moved to where they are embedded.
guest: certificates
	@mkdir -p .cache/programs internal/programs/bin
	@set -e; for program in $(EMBEDDED); do for arch in $(EMBEDDED_ARCHES); do \
		name=$$program-linux-$$arch; to=internal/programs/bin/$$name; \
		GOOS=linux GOARCH=$$arch $(GO) build $(BUILDFLAGS) -ldflags "-s -w" -o .cache/programs/$$name ./cmd/$$program; \
		cmp -s .cache/programs/$$name $$to && [ -s $$to.sha256 ] || { cp .cache/programs/$$name $$to.$$$$ && mv -f $$to.$$$$ $$to \
			&& sh scripts/sha256.sh <$$to >$$to.sha256; }; \
	done; done

# What the dashboard's pages load and is not ours.
web:
	@sh scripts/web.sh

install: build ## install bin/hermes into $(DESTDIR)$(PREFIX)/bin
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 0755 bin/hermes "$(DESTDIR)$(PREFIX)/bin/hermes"

dist: guest ## static archives for every platform, with checksums, in dist/
	@sh scripts/web.sh --must
	@GO="$(GO)" sh scripts/dist.sh dist

dist-check: ## build them here and in another directory, and compare every byte
	@MAKE="$(MAKE)" sh scripts/dist-check.sh

test: ## install what the tests need, then vet, staticcheck and all tests with the race detector
	@sh scripts/test-deps.sh
	@$(MAKE) build vet staticcheck
	@$(GO) build $(BUILDFLAGS) -o bin/tools/summary ./test/summary
	@GO="$(GO)" sh scripts/race.sh "$(PKGS)" $(TESTFLAGS)

test-image: build ## the tests of the image in real containers alone (Docker; Podman where it runs)
	@sh scripts/engines.sh
	@$(GO) test -count=1 -timeout 20m ./test/image

faults: build ## the fault and attack tests alone
	@$(GO) test -count=1 -timeout 60m ./test/faults

escapes: guest ## try every way out of a sandbox, and write docs/security/escapes.md (as root)
	@$(GO) test -count=1 -timeout 20m ./test/escape -run TestNothingGetsOut -update

test-network: ## the same, with the tests that use the network
	@HERMES_RUN_NETWORK_TESTS=1 $(MAKE) test

test-faults: guest ## break the program on purpose, and expect the fault tests to be red
	@GO="$(GO)" sh scripts/test-faults.sh

soak: guest ## the long sizes of the fault tests: hundreds of kills, deep trees; the whole suite on Podman and on daemons elsewhere
	@HERMES_SOAK=1 $(GO) test -count=1 -p 1 -timeout 60m -v ./test/faults/...
	@HERMES_SOAK=1 $(GO) test -count=1 -timeout 30m -v -run TestMuchOutput ./internal/toolbox
	@HERMES_SOAK=1 $(GO) test -count=1 -timeout 30m -v -run TestD35 ./internal/addon ./internal/addon/store
	@HERMES_SOAK=1 $(GO) test -count=1 -timeout 60m -run 'TestPodman|TestDockerBridged|TestD17TheSuiteElsewhere|TestOverTCP' ./sandbox/engine/docker

vet: guest ## go vet for every platform, and build hermes for the foreign ones
	@set -e; for p in $(VET_PLATFORMS); do \
		echo "vet $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) vet ./...; \
		case $$p in linux/*) ;; *) GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build $(BUILDFLAGS) -o /dev/null ./cmd/hermes ;; esac; \
	done

staticcheck: guest
	@tool=bin/tools/staticcheck-$(STATICCHECK_VERSION); \
	if sh scripts/tool.sh "$(GO)" $$tool honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION); \
	then echo "staticcheck"; $$tool ./...; \
	else echo "staticcheck: left out, it could not be fetched"; fi

lint: guest ## golangci-lint (compiling it the first time takes minutes; `make test` does without)
	@tool=bin/tools/golangci-lint-$(GOLANGCI_VERSION); \
	sh scripts/tool.sh "$(GO)" $$tool github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION) && \
	$$tool run ./...

fuzz: guest ## every fuzz target for FUZZTIME (default 10s)
	@GO="$(GO)" sh scripts/fuzz.sh $(FUZZTIME)

bench: build ## print the performance table
	@bin/hermes bench

image: build ## build the image, IMAGE (default hermes:TARGET), of TARGET full or slim, on BASE (default Debian)
	@GO="$(GO)" IMAGE="$(IMAGE)" BASE="$(BASE)" sh scripts/image.sh "$(TARGET)"

runtime: ## build the sealed Python runtime that add-ons are installed for, in RUNTIME (default .cache/runtime)
	@sh scripts/runtime.sh "$(RUNTIME)"

runtime-lock: ## resolve what the runtime has anew, and write runtime/core.txt (network)
	@sh scripts/runtime-lock.sh

lock: ## resolve every add-on anew, and write runtime/locks and docs/addons.md (network)
	@GO="$(GO)" sh scripts/lock.sh

lock-table: ## write docs/addons.md from the locks
	@GO="$(GO)" sh scripts/lock.sh -table

cover: guest ## test coverage, as a figure and as .cache/cover.html
	@$(GO) test -count=1 -coverpkg=./... -coverprofile=.cache/cover.out ./...
	@$(GO) tool cover -html=.cache/cover.out -o .cache/cover.html
	@$(GO) tool cover -func=.cache/cover.out | tail -n 1

generate: certificates ## run the generators
	@$(GO) generate ./...

clean: ## remove what was built
	@[ ! -d .cache ] || find .cache -type d ! -perm -u+w -exec chmod u+w {} + # runtimes
	rm -rf bin dist .cache internal/programs/bin/hermes-* internal/dashboard/web/xterm/* internal/dashboard/web/xterm/.lock

certificates:
	@sh scripts/certificates.sh "$(GO)"
