package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
)

// observed is what /healthz, /readyz and /metrics tell about: the lease, and the parts of seeing and writing. Both probes name what
// is ill; /readyz fails of any, /healthz of what a new process would mend: the lease and the passes. More is what is measured besides.
func observed(m *metrics.Metrics, lease func() error, parts func() []clientgo.Part, more ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(more...)
	registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	for path, fails := range map[string]func(part string) bool{
		"/healthz": func(part string) bool { return part == "lease" || part == "passes" },
		"/readyz":  func(string) bool { return true },
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			var text strings.Builder
			code := http.StatusOK
			for _, part := range append([]clientgo.Part{{Name: "lease", Err: lease()}}, parts()...) {
				if part.Err == nil {
					continue
				}
				fmt.Fprintf(&text, "%s: %v\n", part.Name, part.Err)
				if fails(part.Name) {
					code = http.StatusServiceUnavailable
				}
			}
			if text.Len() == 0 {
				text.WriteString("ok\n")
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text.String()) // who asked may be gone
		})
	}
	return mux
}

// serve listens at once, so that an address in use is an error before anything begins, and answers until
// the returned function is called. An empty address is nowhere; an error names the flag.
func serve(flag, address string, handler http.Handler, logger *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s=%s: cannot serve: %w", flag, address, err)
	}
	logger.Info("serving", "address", listener.Addr().String())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("serving", "address", listener.Addr().String(), "error", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			logger.Debug("serving ends", "error", err)
		}
		<-done
	}, nil
}
