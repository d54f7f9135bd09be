package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
)

// The limits on what any client may cost.
const (
	askedAtOnce    = 4               // permitted requests that are not probes
	reviewedAtOnce = 32              // requests of one address that wait for the API server to permit them
	headersWithin  = 5 * time.Second // and the TLS handshake
	answerWithin   = 2 * time.Minute // longer than a profile takes
	idleFor        = time.Minute
	mostHeaders    = 16 << 10 // bytes; a token of a service account has one or two KiB
)

// observed serves /healthz, /readyz and /metrics. Both probes name every part that is failing: the lease, and those that
// parts returns. /readyz fails if any part does, /healthz only for parts that a restart would repair: the lease and the
// passes. The probes are open to everybody, /metrics to clients that guard lets pass. Metrics are gathered for one
// request at a time; more are additional collectors.
func observed(m *metrics.Metrics, lease func() error, parts func() []clientgo.Part, guard func(http.Handler) http.Handler, more ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(more...)
	registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	var one sync.Mutex
	gatherer := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		one.Lock()
		defer one.Unlock()
		return registry.Gather()
	})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", guard(promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{})))
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
			_, _ = io.WriteString(w, text.String()) // the client may have gone
		})
	}
	return mux
}

// atOnce handles at most that many requests at a time, and answers 503 to the others.
func atOnce(most int, handler http.Handler) http.Handler {
	places := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			handler.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("too many requests: the server handles at most %d at once", most), http.StatusServiceUnavailable)
		}
	})
}

// serveBoth serves observed at the metrics address and, to clients that guard lets pass, debugging at the debug address.
func (s *security) serveBoth(o *options, observed, debugging http.Handler, logger *slog.Logger) (stop func(), err error) {
	stopMetrics, err := s.serve(metricsFlag, o.metricsAddress, observed, logger)
	if err != nil {
		return nil, err
	}
	stopDebug, err := s.serve(debugFlag, o.debugAddress, s.guard(debugging), logger)
	if err != nil {
		stopMetrics()
		return nil, err
	}
	return func() {
		stopDebug()
		stopMetrics()
	}, nil
}

// serve listens at once, so that an address in use is an error before anything starts, and serves until the returned
// function is called. With an empty address it does nothing. An error names the flag.
func (s *security) serve(flag, address string, handler http.Handler, logger *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s=%s: cannot serve: %w", flag, address, err)
	}
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	logger.Info("serving", "address", listener.Addr().String(), "scheme", scheme)
	server := &http.Server{
		Handler: http.MaxBytesHandler(handler, 0), TLSConfig: s.tls.Clone(), // requests need no body
		ReadHeaderTimeout: headersWithin, ReadTimeout: 2 * headersWithin, WriteTimeout: answerWithin, IdleTimeout: idleFor, MaxHeaderBytes: mostHeaders,
		ErrorLog: stdlog.New(quiet{logger}, "", 0),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var err error
		if s.tls != nil {
			err = server.ServeTLS(listener, "", "")
		} else {
			err = server.Serve(listener)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			logger.Error("serving", "address", listener.Addr().String(), "error", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			logger.Debug("shutting down the server", "error", err)
		}
		<-done
	}, nil
}

// quiet logs the server's own errors at Debug: otherwise anybody could fill the log with failed handshakes.
type quiet struct{ logger *slog.Logger }

func (q quiet) Write(line []byte) (int, error) {
	q.logger.Debug("serving", "error", strings.TrimSpace(string(line)))
	return len(line), nil
}
