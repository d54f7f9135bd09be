module github.com/evictkit/evictkit/internal/conformance/forks

go 1.26.0
