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

// What one who asks may cost, at most, whoever that is.
const (
	askedAtOnce   = 4               // requests that are not probes
	headersWithin = 5 * time.Second // and the TLS handshake
	answerWithin  = 2 * time.Minute // longer than a profile takes
	idleFor       = time.Minute
	mostHeaders   = 16 << 10 // bytes; a token of a service account has one or two KiB
)

// observed is what /healthz, /readyz and /metrics tell about: the lease, and the parts of seeing and writing. Both probes name what
// is ill; /readyz fails of any, /healthz of what a new process would mend: the lease and the passes. Anybody may ask the probes, and
// whom guard lets pass for metrics, which are gathered once at a time. More is what is measured besides.
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
			_, _ = io.WriteString(w, text.String()) // who asked may be gone
		})
	}
	return mux
}

// atOnce answers so many requests at a time, and 503 to others.
func atOnce(most int, handler http.Handler) http.Handler {
	places := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			handler.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("%d requests are answered at once, and no more", most), http.StatusServiceUnavailable)
		}
	})
}

// serveBoth serves what is observed, and what is for debugging to whom guard lets pass.
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

// serve listens at once, so that an address in use is an error before anything begins, and answers until
// the returned function is called. An empty address is nowhere; an error names the flag.
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
		Handler: http.MaxBytesHandler(handler, 0), TLSConfig: s.tls.Clone(), // all that is asked is in the URL
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
			logger.Debug("serving ends", "error", err)
		}
		<-done
	}, nil
}

// quiet takes what a server says of those who ask: anybody could fill a log with failed handshakes.
type quiet struct{ logger *slog.Logger }

func (q quiet) Write(line []byte) (int, error) {
	q.logger.Debug("serving", "error", strings.TrimSpace(string(line)))
	return len(line), nil
}
