# Every target works from a fresh clone on Debian. "make help" lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The modules that go.work names; the linters have one of their own in tools/lint.
MODULES = $(shell go list -m -f '{{.Dir}}')
GOTEST = go run ./tools/gotest
LINT = bin/golangci-lint

.PHONY: help setup test race lint tidy cover docs bench demo mutants

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what the tests need and is missing: PostgreSQL, etcd's programs, a C compiler
	@./scripts/setup.sh

test: setup ## every test of every module; a skipped test is a failure
	$(GOTEST) work

race: setup ## the same with the race detector
	$(GOTEST) -race work

lint: $(LINT) ## the linters and the rules of the architecture (.golangci.yml), in every module
	@code=0; for m in $(MODULES); do \
		echo "lint $$m"; (cd $$m && "$(CURDIR)/$(LINT)" run --allow-parallel-runners ./...) || code=1; \
	done; exit $$code

$(LINT): tools/lint/go.mod tools/lint/go.sum
	cd tools/lint && GOWORK=off go build -o ../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

tidy: ## gofmt, and go mod tidy in every module by itself
	gofmt -l -w .
	@for m in $(MODULES) tools/lint; do (cd $$m && GOWORK=off go mod tidy); done

cover: setup ## the coverage of each module by all tests of the workspace
	@./scripts/cover.sh

docs: ## cut the snippets in the documents from the code anew, and check every link
	go run ./tools/docsync -w

bench: setup ## what locks and fences cost, measured against the same without them (over a minute)
	go run ./integration/bench

demo: ## the story of the README, on an etcd inside the program
	go run ./cmd/etcdfence demo

mutants: setup ## break the code on purpose; the tests that scripts/mutants.txt names must notice
	go run ./tools/mutants
