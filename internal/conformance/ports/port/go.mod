module github.com/evictkit/evictkit/internal/conformance/ports/port

go 1.26.0
