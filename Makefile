# make run: build and start the demo. make test: everything that tests, with its set-up.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
BENCH_RECORD := .bench/latest.txt

.PHONY: help run build test check bench docker cases vendor screenshots lighthouse

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

run: build ## start the demo: a shop whose prices move, watches on it, a phone that receives
	./bin/sokone demo

build: ## build bin/sokone
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/sokone ./cmd/sokone

test: ## run all tests with the race detector; installs what they need
	.ci/need cc
	.ci/need browsers
	.ci/need npm
	SOKONE_BROWSER_TESTS=required go test -race -shuffle=on -timeout=20m ./...

check: ## vet, formatting, tidiness, staticcheck, known vulnerabilities
	go vet ./...
	@test -z "$$(gofmt -l cmd internal migrations web)" || { echo 'gofmt would change:'; gofmt -l cmd internal migrations web; exit 1; }
	go mod tidy -diff
	go run $(STATICCHECK) ./...
	.ci/vulncheck $(GOVULNCHECK)

bench: ## run the benchmarks, each beside its floor, and keep their output
	@mkdir -p $(dir $(BENCH_RECORD))
	{ echo "# $$(uname -sm), $$(nproc) cores, $$(go version)"; go test -run='^$$' -bench=. -benchmem -timeout=30m ./...; } | grep -v 'no test files' | tee $(BENCH_RECORD)

CASES ?= internal/shop/page/testdata

cases: ## score the reading of pages on CASES=<folder>; -v lists what is not right: CASES_FLAGS=-v
	go run ./internal/shop/page/cases -dir $(CASES) $(CASES_FLAGS)

docker: ## build the container image
	docker build -t sokone .

vendor: ## fetch the libraries of the web app anew
	web/third_party/refresh

screenshots: ## draw every screen, phone and desktop, light and dark, ja and en, into .screenshots
	.ci/need browsers
	.ci/need npm
	cd internal/browser/testdata && node screenshots.mjs

lighthouse: ## print Lighthouse's scores of the app
	.ci/need browsers
	.ci/need npm
	cd internal/browser/testdata && node lighthouse.mjs
