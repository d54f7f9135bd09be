package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"time"
)

// controls runs the controller against the API server of an empty cluster: it becomes ready, and exits when it is
// interrupted.
func controls(ctx context.Context, r *rehearsal, name string) error {
	server := httptest.NewServer(http.HandlerFunc(empty))
	defer server.Close()
	defer server.CloseClientConnections()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var told strings.Builder
	c := exec.CommandContext(ctx, name, "--dry-run", "--insecure-serving", "--master", server.URL, "--metrics-address", address, "--debug-address", "")
	c.Dir, c.Stderr = r.dir, &told
	if err := c.Start(); err != nil {
		return err
	}
	ready := answers(ctx, "http://"+address+"/readyz")
	if err := errors.Join(ready, c.Process.Signal(os.Interrupt), c.Wait()); err != nil {
		return fmt.Errorf("%w: %s", err, told.String())
	}
	return nil
}

// empty is an API server that has no objects and allows everything.
func empty(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := request.URL.Query()
	switch {
	case request.URL.Path == "/version":
		fmt.Fprint(w, `{"major":"1","minor":"36","gitVersion":"v1.36.3"}`)
	case strings.HasSuffix(request.URL.Path, "/selfsubjectaccessreviews"):
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`)
	case query.Get("watch") == "" && query.Get("allowWatchBookmarks") == "":
		fmt.Fprintf(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	default:
		if query.Get("sendInitialEvents") == "true" {
			kind := map[bool]string{true: "Node", false: "Pod"}[strings.HasSuffix(request.URL.Path, "/nodes")]
			version := "v1"
			if strings.HasSuffix(request.URL.Path, "/leases") {
				kind, version = "Lease", "coordination.k8s.io/v1"
			}
			fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", kind, version)
		}
		_ = http.NewResponseController(w).Flush() // starts a watch
		<-request.Context().Done()
	}
}

// answers waits until an address responds with 200 OK.
func answers(ctx context.Context, url string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close() // the status is enough
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", url, ctx.Err())
		case <-tick.C:
		}
	}
}
