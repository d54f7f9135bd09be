package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/clientgo"
)

// TestAnOutageAtTheStartIsWaitedFor, and told once; what is wrong for good is returned at once.
func TestAnOutageAtTheStartIsWaitedFor(t *testing.T) {
	refused := &url.Error{Op: "Get", URL: "https://api/version", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	nodes := v1.Resource("nodes")
	for name, c := range map[string]struct {
		err    error
		passes bool
	}{
		"NobodyListens": {refused, true},
		"NoSuchHost":    {&url.Error{Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, true},
		"CutOff":        {fmt.Errorf("unexpected error when reading response body: %w", io.ErrUnexpectedEOF), true},
		"Reset":         {fmt.Errorf("unexpected error when reading response body: %w", &net.OpError{Op: "read", Err: syscall.ECONNRESET}), true},
		"EtcdIsIll":     {apierrors.NewInternalError(errors.New("etcdserver: request timed out")), true},
		"Starting":      {apierrors.NewServiceUnavailable("starting"), true},
		"Overloaded":    {apierrors.NewTooManyRequests("later", 1), true},
		"Unauthorized":  {apierrors.NewUnauthorized("no"), false},
		"Forbidden":     {apierrors.NewForbidden(nodes, "", errors.New("no")), false},
		"AnotherServer": {&url.Error{Err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}}, false},
		"TooOld":        {&clientgo.ServerTooOldError{Version: "v1.18.6"}, false},
		"NoPermission":  {&clientgo.PermissionError{Missing: []clientgo.Permission{{Verb: "list", Resource: "nodes"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				began := time.Now()
				e := &entry{logger: slog.New(slog.NewTextHandler(&log, nil))}
				part := func() error { return e.partBeside(func() []clientgo.Part { return nil })()[0].Err }
				e.ask = func(context.Context) error {
					if time.Since(began) < time.Hour {
						return fmt.Errorf("asking: %w", c.err)
					}
					return nil
				}
				waited := make(chan error, 1)
				go func() { waited <- e.wait(t.Context()) }()
				synctest.Wait()
				if c.passes {
					require.ErrorIs(t, part(), c.err)
					require.NoError(t, <-waited)
					require.Equal(t, time.Hour, time.Since(began))
					require.Equal(t, 1, strings.Count(log.String(), "it waits"))
				} else {
					require.ErrorIs(t, <-waited, c.err)
					require.Zero(t, time.Since(began))
				}
				require.NoError(t, part())
			})
		})
	}
}

// TestAServerThatStartsIsNotBelieved when it says no: it knows no roles yet. A minute after the outage it is.
func TestAServerThatStartsIsNotBelieved(t *testing.T) {
	for name, refuses := range map[string]time.Duration{"UntilItKnows": believed - askAgain, "ForGood": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const down = 10 * time.Minute
				began := time.Now()
				no := &clientgo.PermissionError{Missing: []clientgo.Permission{{Verb: "list", Resource: "nodes"}}}
				e := &entry{logger: slog.New(slog.DiscardHandler), ask: func(context.Context) error {
					switch up := time.Since(began) - down; {
					case up < 0:
						return &url.Error{Err: syscall.ECONNREFUSED}
					case up < refuses:
						return no
					}
					return nil
				}}
				err := e.wait(t.Context())
				if refuses < believed {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, no)
					require.WithinDuration(t, began.Add(down+believed), time.Now(), askAgain)
				}
			})
		})
	}
}

// TestAReplicaThatStartsInAnOutage lives and says what it waits for, is not ready, ends when it is asked to, and works once
// the API server is there.
func TestAReplicaThatStartsInAnOutage(t *testing.T) {
	s := newAPIServer()
	s.nodes = 1
	s.URL = "http://" + s.Listener.Addr().String() // nobody accepts there yet
	require.NoError(t, s.Listener.Close())
	for _, comes := range []bool{false, true} {
		r := start(t, s)
		require.Eventually(t, func() bool { return strings.Contains(fetch("http://"+r.metrics+"/readyz"), "entry: ") }, time.Minute, 10*time.Millisecond)
		require.Contains(t, fetch("http://"+r.metrics+"/healthz"), "connection refused")
		if comes {
			listener, err := net.Listen("tcp", strings.TrimPrefix(s.URL, "http://"))
			require.NoError(t, err)
			s.Listener, s.URL = listener, ""
			leases(s, func(*http.Request) bool { return false })
			s.Start()
			t.Cleanup(s.Close)
			r.ready(t)
			r.leads(t)
		}
		require.NoError(t, r.stop())
	}
}
