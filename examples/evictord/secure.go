package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/evictkit/evictkit/evictor/clientgo"
)

// securityOptions say how the served addresses are protected.
type securityOptions struct {
	insecure          bool
	certFile, keyFile string
}

// security protects the served addresses. The zero security serves plain HTTP to everybody.
type security struct {
	tls    *tls.Config
	who    authenticator.Request
	may    authorizer.Authorizer
	logger *slog.Logger
}

// clientCA is the ConfigMap in which the API server publishes the CA of its clients' certificates.
var clientCA = clientgo.Permission{Resource: "configmaps", Namespace: metav1.NamespaceSystem, Name: "extension-apiserver-authentication"}

// asksClients says whether clients of the served addresses must be known.
func (o *options) asksClients() bool {
	return !o.security.insecure && (o.metricsAddress != "" || o.debugAddress != "")
}

// newSecurity authenticates clients by TokenReviews and client certificates, and authorizes them by
// SubjectAccessReviews, as kube-controller-manager does and with the same library. The CA of client certificates is
// reloaded when it changes; while it is unknown, only tokens are accepted. A serving certificate in files is reloaded
// when it changes; without files, the process makes a self-signed one. Reloading ends with ctx. Where nobody is asked who
// he is, it asks the API server nothing.
func newSecurity(ctx context.Context, o *options, config *rest.Config, logger *slog.Logger) (*security, error) {
	if !o.asksClients() {
		return &security{}, nil
	}
	s := &security{logger: logger}
	client, err := clientFor("authentication", config, 0) // wrong tokens must not use up the rate limit of nodes and evictions
	if err != nil {
		return nil, err
	}
	const patience = 5 * time.Second
	retry := &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 3}
	authorities, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", clientCA.Namespace, clientCA.Name, "client-ca-file", client)
	if err != nil {
		return nil, fmt.Errorf("authentication by certificates: %w", err)
	}
	go authorities.Run(ctx, 1)
	s.who, _, err = authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous: &apiserver.AnonymousAuthConfig{}, CacheTTL: time.Minute, ClientCertificateCAContentProvider: authorities,
		TokenAccessReviewClient: client.AuthenticationV1(), TokenAccessReviewTimeout: patience, WebhookRetryBackoff: retry,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	s.may, err = authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), AllowCacheTTL: 5 * time.Minute, DenyCacheTTL: 30 * time.Second, WebhookRetryBackoff: retry,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authorization: %w", err)
	}
	// Only HTTP/1.1, so that a connection carries one request at a time.
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, ClientAuth: tls.RequestClientCert}
	if o.security.certFile == "" {
		chain, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
		if err != nil {
			return nil, fmt.Errorf("self-signed certificate: %w", err)
		}
		pair, err := tls.X509KeyPair(chain, key)
		s.tls.Certificates = []tls.Certificate{pair}
		return s, err
	}
	ctrllog.SetLogger(logr.FromSlogHandler(logger.Handler())) // the watcher's
	watcher, err := certwatcher.New(o.security.certFile, o.security.keyFile)
	if err != nil {
		return nil, fmt.Errorf("--%s=%s, --%s=%s: %w", certFlag, o.security.certFile, keyFlag, o.security.keyFile, err)
	}
	s.tls.GetCertificate = watcher.GetCertificate
	go func() {
		if err := watcher.Start(ctx); err != nil {
			logger.Error("cannot watch the certificate files, so changes have no effect", "error", err)
		}
	}()
	return s, nil
}

// guard passes on requests of clients that may GET the path, and limits how many of these are handled at once. Other
// requests take none of these places: each costs the API server a review, of which the client's own rate limit bounds the
// pace, and an address has few at a time, so that nobody's wait for long.
func (s *security) guard(handler http.Handler) http.Handler {
	handler = atOnce(askedAtOnce, handler)
	if s.who == nil {
		return handler
	}
	var waiting addresses
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.mayGet(w, r, &waiting) {
			handler.ServeHTTP(w, r)
		}
	})
}

// mayGet says whether the client may GET the path, and answers it if not.
func (s *security) mayGet(w http.ResponseWriter, r *http.Request, waiting *addresses) bool {
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	if !waiting.enter(address) {
		http.Error(w, fmt.Sprintf("too many requests: at most %d of an address wait for the API server's word on them", reviewedAtOnce), http.StatusServiceUnavailable)
		return false
	}
	defer waiting.leave(address)
	ctx, cancel := context.WithTimeout(r.Context(), reviewWithin)
	known, ok, err := s.who.AuthenticateRequest(r.WithContext(ctx))
	cancel()
	if err != nil || !ok {
		s.logger.Debug("request not authenticated", "path", r.URL.Path, "error", err)
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return false
	}
	ctx, cancel = context.WithTimeout(r.Context(), reviewWithin)
	decision, reason, err := s.may.Authorize(ctx, authorizer.AttributesRecord{User: known.User, Verb: "get", Path: r.URL.Path})
	cancel()
	switch {
	case decision == authorizer.DecisionAllow:
		return true
	case err != nil:
		s.logger.Warn("cannot ask the API server whether the request is authorized", "path", r.URL.Path, "error", err)
		http.Error(w, "cannot ask the API server whether this is authorized", http.StatusServiceUnavailable)
	default:
		s.logger.Debug("request not authorized", "user", known.User.GetName(), "path", r.URL.Path, "reason", reason)
		http.Error(w, "Forbidden", http.StatusForbidden)
	}
	return false
}

// addresses counts the requests of each address that wait for a review.
type addresses struct {
	mu  sync.Mutex
	all map[string]int // guarded by mu: no address has 0
}

func (a *addresses) enter(address string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[address] >= reviewedAtOnce {
		return false
	}
	if a.all == nil {
		a.all = make(map[string]int)
	}
	a.all[address]++
	return true
}

func (a *addresses) leave(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[address]--; a.all[address] == 0 {
		delete(a.all, address)
	}
}

// reviewWithin bounds each of the two reviews of a request.
const reviewWithin = 15 * time.Second
