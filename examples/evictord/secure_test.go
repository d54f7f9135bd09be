package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
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
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
)

// reviewer is as much of an API server as authenticates and authorizes: a user's token is the user's name, and what
// each user may get is listed.
type reviewer struct {
	*httptest.Server
	may    map[string][]string
	asks   atomic.Int64
	signer []byte        // the CA of its clients' certificates; none unless set before the first request
	holds  chan struct{} // until it is closed, strangers get no answer; nil is closed
	held   atomic.Int64
}

func newReviewer(t *testing.T) *reviewer {
	r := &reviewer{may: map[string][]string{"scraper": {"/metrics"}, "operator": {"/metrics", "/debug/evictor"}, "nobody": nil}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *reviewer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if request.URL.Path == "/api/v1/namespaces/kube-system/configmaps" {
		r.publish(w, request)
		return
	}
	r.asks.Add(1)
	switch request.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		var review authenticationv1.TokenReview
		_ = json.NewDecoder(request.Body).Decode(&review)
		if _, known := r.may[review.Spec.Token]; known {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: review.Spec.Token}}
		} else {
			r.held.Add(1)
			if r.holds != nil {
				<-r.holds
			}
			review.Status.Error = "invalid bearer token" // as in a kube-apiserver
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

// publish returns the CA, to requests for nothing else.
func (r *reviewer) publish(w http.ResponseWriter, request *http.Request) {
	query := request.URL.Query()
	switch {
	case query.Get("fieldSelector") != "metadata.name=extension-apiserver-authentication":
		http.Error(w, "nobody may read others", http.StatusForbidden)
	case query.Get("sendInitialEvents") != "":
		http.Error(w, "lists come in pages", http.StatusUnprocessableEntity)
	case query.Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-request.Context().Done()
	default:
		list := v1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		if r.signer != nil {
			list.Items = append(list.Items, v1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication", ResourceVersion: "1"},
				Data:       map[string]string{"client-ca-file": string(r.signer)},
			})
		}
		_ = json.NewEncoder(w).Encode(list)
	}
}

// served returns an address that serves observed with these options.
func served(t *testing.T, api *reviewer, o securityOptions) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	out := &log{}
	logger := slog.New(slog.NewTextHandler(out, nil))
	s, err := newSecurity(ctx, &options{security: o, metricsAddress: ":0"}, &rest.Config{Host: api.URL, QPS: 1000, Burst: 1000}, logger)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/debug/evictor", s.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pending\n") })))
	mux.Handle("/", observed(metrics.New(metrics.Options{}), func() error { return nil }, func() []clientgo.Part { return nil }, s.guard))
	stop, err := s.serve(metricsFlag, "127.0.0.1:0", mux, logger)
	require.NoError(t, err)
	t.Cleanup(stop)
	return out.addresses()[0]
}

// ask returns the code and the body of the answer.
func ask(t *testing.T, url, token string) (int, string) {
	t.Helper()
	return askWith(t, &tls.Config{InsecureSkipVerify: true}, url, token)
}

func askWith(t *testing.T, config *tls.Config, url, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// TestWhoMayAsk: the API server decides, except for the probes.
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

// client returns a certificate of that user, signed by a new CA, and the CA.
func client(t *testing.T, user string) (tls.Certificate, []byte) {
	t.Helper()
	keys := make([]*ecdsa.PrivateKey, 2)
	for i := range keys {
		var err error
		keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
	}
	until := time.Now().Add(time.Hour)
	signer := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signer of clients"}, NotAfter: until, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: user}, NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	signed, err := x509.CreateCertificate(rand.Reader, signer, signer, keys[0].Public(), keys[0])
	require.NoError(t, err)
	raw, err := x509.CreateCertificate(rand.Reader, own, signer, keys[1].Public(), keys[0])
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: keys[1]}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
}

// TestWhoMayAskByCertificate: a certificate that the API server accepts authenticates like a token. A certificate from
// another CA does not, but a token beside it still does.
func TestWhoMayAskByCertificate(t *testing.T) {
	api := newReviewer(t)
	scraper, signer := client(t, "scraper")
	forged, _ := client(t, "scraper")
	nobody, theirs := client(t, "nobody")
	api.signer = append(signer, theirs...)
	address := served(t, api, securityOptions{})
	asked := func(own *tls.Certificate, token string) int {
		config := &tls.Config{InsecureSkipVerify: true}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil } // whatever CA the server asks for
		code, _ := askWith(t, config, "https://"+address+"/metrics", token)
		return code
	}
	require.Eventually(t, func() bool { return asked(&scraper, "") == http.StatusOK }, time.Minute, 10*time.Millisecond)
	require.Equal(t, http.StatusForbidden, asked(&nobody, ""))
	require.Equal(t, http.StatusUnauthorized, asked(&forged, ""))
	require.Equal(t, http.StatusOK, asked(&forged, "scraper"))
	require.Equal(t, http.StatusUnauthorized, asked(&tls.Certificate{}, ""))
}

// TestWhoIsKnownMayAskWhileTheAPIServerIsDown: known clients may, no others.
func TestWhoIsKnownMayAskWhileTheAPIServerIsDown(t *testing.T) {
	api := newReviewer(t)
	address := served(t, api, securityOptions{})
	code, _ := ask(t, "https://"+address+"/metrics", "scraper")
	require.Equal(t, http.StatusOK, code)
	require.NoError(t, api.Listener.Close())
	api.CloseClientConnections() // Close would wait for its watches
	code, _ = ask(t, "https://"+address+"/metrics", "scraper")
	require.Equal(t, http.StatusOK, code)
	code, _ = ask(t, "https://"+address+"/metrics", "operator")
	require.Equal(t, http.StatusUnauthorized, code)
}

// TestPlainHTTPWhenItIsAskedFor sends no request to the API server.
func TestPlainHTTPWhenItIsAskedFor(t *testing.T) {
	api := newReviewer(t)
	address := served(t, api, securityOptions{insecure: true})
	code, _ := ask(t, "http://"+address+"/metrics", "")
	require.Equal(t, http.StatusOK, code)
	require.Zero(t, api.asks.Load())
}

// TestCertificatesAreReadAgain if the files change.
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
	_, err := newSecurity(context.Background(), &options{security: securityOptions{certFile: "/no/such", keyFile: "/no/key"}, debugAddress: ":0"}, &rest.Config{Host: "http://127.0.0.1:1"}, slog.New(slog.DiscardHandler))
	require.EqualError(t, err, "--tls-cert-file=/no/such, --tls-private-key-file=/no/key: open /no/such: no such file or directory")
	_, err = parse([]string{"--tls-cert-file=a"}, io.Discard)
	require.EqualError(t, err, "--tls-cert-file=a: belongs with --tls-private-key-file: give both or neither")
	_, err = parse([]string{"--tls-cert-file=a", "--tls-private-key-file=b", "--insecure-serving"}, io.Discard)
	require.EqualError(t, err, "--tls-cert-file=a: has no meaning with --insecure-serving")
}

// TestWhoServesNothingReadsNoCA of its clients, for which it may have no permission.
func TestWhoServesNothingReadsNoCA(t *testing.T) {
	o, err := parse([]string{"--metrics-address=", "--debug-address=", "--leader-elect=false"}, io.Discard)
	require.NoError(t, err)
	s, err := newSecurity(t.Context(), &o, &rest.Config{Host: "http://127.0.0.1:1"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, &security{}, s)
}

// TestRequestsAreBounded in size and number. A waiting request costs nothing more.
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

// TestAStrangerKeepsNobodyOut: the API server has not answered about eight connections with random tokens, and goes on to
// be asked about them, while every scrape succeeds. More connections of that address than may wait are turned away.
func TestAStrangerKeepsNobodyOut(t *testing.T) {
	api := newReviewer(t)
	api.holds = make(chan struct{})
	address := served(t, api, securityOptions{})
	answers := make(chan int)
	stranger := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	knock := func(from *net.Dialer, token string) {
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DialContext: from.DialContext, DisableKeepAlives: true}}
		request, _ := http.NewRequest(http.MethodGet, "https://"+address+"/metrics", nil)
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := client.Do(request)
		if err != nil {
			answers <- 0
			return
		}
		_ = response.Body.Close()
		answers <- response.StatusCode
	}
	for i := range 8 {
		go knock(new(net.Dialer), fmt.Sprint("random-", i))
	}
	require.Eventually(t, func() bool { return api.held.Load() == 8 }, time.Minute, time.Millisecond)
	for range 20 {
		code, text := ask(t, "https://"+address+"/metrics", "scraper")
		require.Equal(t, http.StatusOK, code, text)
	}
	for i := range reviewedAtOnce + 1 {
		go knock(&stranger, fmt.Sprint("strange-", i))
	}
	require.Equal(t, http.StatusServiceUnavailable, <-answers)
	code, _ := ask(t, "https://"+address+"/metrics", "scraper")
	require.Equal(t, http.StatusOK, code)
	close(api.holds)
	for range 8 + reviewedAtOnce {
		require.Equal(t, http.StatusUnauthorized, <-answers)
	}
}

// TestTheProgramServesOverTLS by default, and checks that it may create the reviews.
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

	denied.denied = func(_, resource string) bool { return resource == "configmaps" }
	err = try(context.Background(), []string{"--kubeconfig", kubeconfig(t, denied.URL)}, io.Discard)
	require.ErrorContains(t, err, "no permission to list configmaps extension-apiserver-authentication in kube-system, watch configmaps extension-apiserver-authentication in kube-system")
}
