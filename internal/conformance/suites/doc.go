// Package suites plays Kubernetes' own integration, end-to-end and unit tests on evictkit.
package suites
