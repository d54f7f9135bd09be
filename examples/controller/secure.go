package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// securityOptions are how what is served is protected.
type securityOptions struct {
	insecure          bool
	certFile, keyFile string
}

// security is the same, ready. The zero security is plain HTTP for everybody.
type security struct {
	tls    *tls.Config
	who    authenticator.Request
	may    authorizer.Authorizer
	logger *slog.Logger
}

// newSecurity asks the API server who is who, by TokenReviews, and who may what, by SubjectAccessReviews, as kube-controller-manager
// does it and with the same library. A certificate in files is read again when it changes, until ctx ends; without files there is one
// for this process, signed by itself.
func newSecurity(ctx context.Context, o securityOptions, config *rest.Config, logger *slog.Logger) (*security, error) {
	if o.insecure {
		return &security{}, nil
	}
	s := &security{logger: logger}
	config = rest.CopyConfig(config)
	config.UserAgent += "/authentication"
	config.RateLimiter = nil // who asks with wrong tokens takes nothing from nodes and evictions
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for authentication: %w", err)
	}
	const patience = 5 * time.Second
	retry := &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 3}
	s.who, _, err = authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous: &apiserver.AnonymousAuthConfig{}, CacheTTL: time.Minute,
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
	// HTTP/1.1 alone: one connection is one request at a time.
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if o.certFile == "" {
		chain, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
		if err != nil {
			return nil, fmt.Errorf("a certificate of its own: %w", err)
		}
		pair, err := tls.X509KeyPair(chain, key)
		s.tls.Certificates = []tls.Certificate{pair}
		return s, err
	}
	ctrllog.SetLogger(logr.FromSlogHandler(logger.Handler())) // the watcher's
	watcher, err := certwatcher.New(o.certFile, o.keyFile)
	if err != nil {
		return nil, fmt.Errorf("--%s=%s, --%s=%s: %w", certFlag, o.certFile, keyFlag, o.keyFile, err)
	}
	s.tls.GetCertificate = watcher.GetCertificate
	go func() {
		if err := watcher.Start(ctx); err != nil {
			logger.Error("the certificate is not read again when it changes", "error", err)
		}
	}()
	return s, nil
}

// guard lets pass who may GET the path, a few at once, those who are refused included: a refusal costs the API server a review.
func (s *security) guard(handler http.Handler) http.Handler {
	if s.who == nil {
		return atOnce(askedAtOnce, handler)
	}
	return atOnce(askedAtOnce, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), reviewWithin)
		known, ok, err := s.who.AuthenticateRequest(r.WithContext(ctx))
		cancel()
		if err != nil || !ok {
			s.logger.Debug("somebody unknown asks", "path", r.URL.Path, "error", err)
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		ctx, cancel = context.WithTimeout(r.Context(), reviewWithin)
		decision, reason, err := s.may.Authorize(ctx, authorizer.AttributesRecord{User: known.User, Verb: "get", Path: r.URL.Path})
		cancel()
		switch {
		case decision == authorizer.DecisionAllow:
			handler.ServeHTTP(w, r)
		case err != nil:
			s.logger.Warn("who may ask cannot be asked of the API server", "path", r.URL.Path, "error", err)
			http.Error(w, "the API server cannot be asked who may", http.StatusServiceUnavailable)
		default:
			s.logger.Debug("somebody asks who may not", "user", known.User.GetName(), "path", r.URL.Path, "reason", reason)
			http.Error(w, "Forbidden", http.StatusForbidden)
		}
	}))
}

// reviewWithin bounds how long the API server is asked about one request, twice.
const reviewWithin = 15 * time.Second
