// Package browser holds the tests that run the real server under real browsers:
// Firefox with a push service of the tests' own, and Chromium. The scripts are in
// testdata; what they need is installed by `make test`.
package browser
