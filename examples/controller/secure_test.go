package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
)

// reviewer is as much of an API server as is asked who is who and who may what: the token of a user is his name, and he may get what
// is listed for him.
type reviewer struct {
	*httptest.Server
	may  map[string][]string
	asks atomic.Int64
}

func newReviewer(t *testing.T) *reviewer {
	r := &reviewer{may: map[string][]string{"scraper": {"/metrics"}, "operator": {"/metrics", "/debug/evictor"}, "nobody": nil}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *reviewer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.asks.Add(1)
	w.Header().Set("Content-Type", "application/json")
	switch request.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		var review authenticationv1.TokenReview
		_ = json.NewDecoder(request.Body).Decode(&review)
		if _, known := r.may[review.Spec.Token]; known {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: review.Spec.Token}}
		} else {
			review.Status.Error = "invalid bearer token" // as a kube-apiserver says it
		}
		_ = json.NewEncoder(w).Encode(review)
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(request.Body).Decode(&review)
		for _, path := range r.may[review.Spec.User] {
			asked := review.Spec.NonResourceAttributes
			review.Status.Allowed = review.Status.Allowed || asked != nil && asked.Verb == "get" && asked.Path == path
		}
		_ = json.NewEncoder(w).Encode(review)
	default:
		http.NotFound(w, request)
	}
}

// served is the address at which what is observed is served, as the options say.
func served(t *testing.T, api *reviewer, o securityOptions) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	out := &log{}
	logger := slog.New(slog.NewTextHandler(out, nil))
	s, err := newSecurity(ctx, o, &rest.Config{Host: api.URL}, logger)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/debug/evictor", s.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pending\n") })))
	mux.Handle("/", observed(metrics.New(metrics.Options{}), func() error { return nil }, func() []clientgo.Part { return nil }, s.guard))
	stop, err := s.serve(metricsFlag, "127.0.0.1:0", mux, logger)
	require.NoError(t, err)
	t.Cleanup(stop)
	return out.addresses()[0]
}

// ask answers the code and the body of the answer.
func ask(t *testing.T, url, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// TestWhoMayAsk: the API server says so for everything but the probes.
func TestWhoMayAsk(t *testing.T) {
	api := newReviewer(t)
	address := served(t, api, securityOptions{})
	for _, row := range []struct {
		path, token string
		want        int
	}{
		{"/metrics", "", http.StatusUnauthorized},
		{"/metrics", "wrong", http.StatusUnauthorized},
		{"/metrics", "nobody", http.StatusForbidden},
		{"/metrics", "scraper", http.StatusOK},
		{"/debug/evictor", "scraper", http.StatusForbidden},
		{"/debug/evictor", "operator", http.StatusOK},
		{"/healthz", "", http.StatusOK},
		{"/readyz", "wrong", http.StatusOK},
		{"/nothing", "", http.StatusNotFound},
	} {
		code, _ := ask(t, "https://"+address+row.path, row.token)
		require.Equal(t, row.want, code, "%s by %q", row.path, row.token)
	}
	asked := api.asks.Load()
	code, text := ask(t, "https://"+address+"/metrics", "scraper")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, "taint_eviction_controller_pod_deletions_total 0")
	require.Equal(t, asked, api.asks.Load(), "who asks again is known")
	code, text = ask(t, "http://"+address+"/metrics", "scraper")
	require.Equal(t, http.StatusBadRequest, code, text) // Go's answer to plain HTTP where TLS is spoken
}

// TestWhoIsKnownMayAskWhileTheAPIServerIsDown, and nobody else.
func TestWhoIsKnownMayAskWhileTheAPIServerIsDown(t *testing.T) {
	api := newReviewer(t)
	address := served(t, api, securityOptions{})
	code, _ := ask(t, "https://"+address+"/metrics", "scraper")
	require.Equal(t, http.StatusOK, code)
	api.Close()
	code, _ = ask(t, "https://"+address+"/metrics", "scraper")
	require.Equal(t, http.StatusOK, code)
	code, _ = ask(t, "https://"+address+"/metrics", "operator")
	require.Equal(t, http.StatusUnauthorized, code)
}

// TestPlainHTTPWhenItIsAskedFor, which asks the API server nothing.
func TestPlainHTTPWhenItIsAskedFor(t *testing.T) {
	api := newReviewer(t)
	address := served(t, api, securityOptions{insecure: true})
	code, _ := ask(t, "http://"+address+"/metrics", "")
	require.Equal(t, http.StatusOK, code)
	require.Zero(t, api.asks.Load())
}

// TestCertificatesAreReadAgain when the files change.
func TestCertificatesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	o := securityOptions{certFile: filepath.Join(dir, "tls.crt"), keyFile: filepath.Join(dir, "tls.key")}
	renew := func() {
		chain, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(o.keyFile, key, 0o600))
		require.NoError(t, os.WriteFile(o.certFile, chain, 0o600))
	}
	renew()
	address := served(t, newReviewer(t), o)
	shown := func() *x509.Certificate {
		connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, err)
		defer connection.Close()
		return connection.ConnectionState().PeerCertificates[0]
	}
	first := shown()
	require.Equal(t, first.Raw, shown().Raw)
	renew()
	require.Eventually(t, func() bool { return !first.Equal(shown()) }, time.Minute, 10*time.Millisecond)
}

func TestACertificateThatCannotBeReadIsAnError(t *testing.T) {
	_, err := newSecurity(context.Background(), securityOptions{certFile: "/no/such", keyFile: "/no/key"}, &rest.Config{Host: "http://127.0.0.1:1"}, slog.New(slog.DiscardHandler))
	require.EqualError(t, err, "--tls-cert-file=/no/such, --tls-private-key-file=/no/key: open /no/such: no such file or directory")
	_, err = parse([]string{"--tls-cert-file=a"}, io.Discard)
	require.EqualError(t, err, "--tls-cert-file=a: belongs with --tls-private-key-file: give both or neither")
	_, err = parse([]string{"--tls-cert-file=a", "--tls-private-key-file=b", "--insecure-serving"}, io.Discard)
	require.EqualError(t, err, "--tls-cert-file=a: has no meaning with --insecure-serving")
}

// TestRequestsAreBounded in size and number; what waits for a place costs nothing more.
func TestRequestsAreBounded(t *testing.T) {
	address := served(t, newReviewer(t), securityOptions{})
	code, _ := ask(t, "https://"+address+"/healthz", strings.Repeat("x", mostHeaders+8<<10))
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, code)

	entered, leave := make(chan bool, askedAtOnce), make(chan bool)
	handler := new(security).guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- true
		<-leave
	}))
	done := make(chan int, askedAtOnce)
	answer := func() int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Code
	}
	for range askedAtOnce {
		go func() { done <- answer() }()
		<-entered
	}
	require.Equal(t, http.StatusServiceUnavailable, answer())
	close(leave)
	for range askedAtOnce {
		require.Equal(t, http.StatusOK, <-done)
	}
	require.Equal(t, http.StatusOK, answer())
}

// TestTheProgramServesOverTLS unless it is told otherwise, and asks for permission to ask who may.
func TestTheProgramServesOverTLS(t *testing.T) {
	api := newAPIServer()
	api.nodes = 2
	api.Start()
	t.Cleanup(api.Close)
	r := start(t, api, "--insecure-serving=false", "--leader-elect=false")
	require.Eventually(t, func() bool {
		code, text := ask(t, "https://"+r.metrics+"/readyz", "")
		return code == http.StatusOK && text == "ok\n"
	}, time.Minute, 10*time.Millisecond)
	for _, url := range []string{r.metrics + "/metrics", r.debug + "/debug/evictor", r.debug + "/debug/pprof/heap"} {
		code, _ := ask(t, "https://"+url, "")
		require.Equal(t, http.StatusUnauthorized, code, url)
	}
	require.NoError(t, r.stop())

	denied := newAPIServer()
	denied.denied = func(_, resource string) bool { return regexp.MustCompile("reviews$").MatchString(resource) }
	denied.Start()
	t.Cleanup(denied.Close)
	err := try(context.Background(), []string{"--kubeconfig", kubeconfig(t, denied.URL)}, io.Discard)
	require.ErrorContains(t, err, "create tokenreviews")
	require.ErrorContains(t, err, "create subjectaccessreviews")
}
