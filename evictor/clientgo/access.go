package clientgo

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
)

// OldestServer is the oldest Kubernetes version whose API server has everything that a Cluster uses: policy/v1
// Evictions and leases of coordination.k8s.io/v1.
const OldestServer = "1.22"

// ServerTooOldError says that the API server is older than OldestServer.
type ServerTooOldError struct{ Version string }

// Error implements error.
func (e *ServerTooOldError) Error() string {
	return fmt.Sprintf("the API server is %s, which is too old: the oldest supported version is %s", e.Version, OldestServer)
}

// Permission is one thing that an account must be allowed to do.
type Permission struct {
	Verb, Group, Resource, Subresource string
	Namespace                          string // empty means all
	Name                               string // empty means all
}

// String returns text such as "patch nodes/status" or "watch leases.coordination.k8s.io in kube-node-lease".
func (p Permission) String() string {
	text := p.Verb + " " + p.Resource
	if p.Group != "" {
		text += "." + p.Group
	}
	if p.Subresource != "" {
		text += "/" + p.Subresource
	}
	if p.Name != "" {
		text += " " + p.Name
	}
	if p.Namespace != "" {
		text += " in " + p.Namespace
	}
	return text
}

// PermissionError names the permissions that the account needs and lacks.
type PermissionError struct{ Missing []Permission }

// Error implements error.
func (e *PermissionError) Error() string {
	missing := make([]string, len(e.Missing))
	for i, p := range e.Missing {
		missing[i] = p.String()
	}
	return "no permission to " + strings.Join(missing, ", ")
}

// Permissions returns the permissions that a Cluster with these options needs. A dry run needs only those to get, list
// and watch.
func (o Options) Permissions() []Permission {
	var all []Permission
	add := func(p Permission, verbs ...string) {
		for _, verb := range verbs {
			p.Verb = verb
			all = append(all, p)
		}
	}
	leases := Permission{Group: coordinationv1.GroupName, Resource: "leases", Namespace: v1.NamespaceNodeLease}
	add(Permission{Resource: "nodes"}, "list", "watch")
	if o.lifecycle() {
		add(Permission{Resource: "nodes"}, "patch")
		add(Permission{Resource: "nodes", Subresource: "status"}, "patch")
	}
	add(Permission{Resource: "pods"}, "list", "watch")
	add(Permission{Resource: "pods", Subresource: "status"}, "patch")
	switch {
	case o.Half == Lifecycle:
	case o.EvictionAPI:
		add(Permission{Resource: "pods", Subresource: "eviction"}, "create")
	default:
		add(Permission{Resource: "pods"}, "delete")
	}
	if o.lifecycle() {
		add(leases, "get")
		if o.Informers != nil {
			leases.Namespace = ""
		}
		add(leases, "list", "watch")
	}
	if o.DaemonSets {
		add(Permission{Group: "apps", Resource: "daemonsets"}, "list", "watch")
	}
	add(Permission{Resource: "events"}, "create", "patch")
	return all
}

// Check asks the API server for its version, and whether the account has each of the needed permissions;
// Options.Permissions returns those that the Cluster needs. If none are needed, it asks only for the version. The error
// is a *ServerTooOldError, a *PermissionError that names every missing permission, or that of a failed request. A
// version that Check cannot parse, such as that of a server built without one, is only a warning in the log. Call Check
// before Run to fail early; a Cluster that lacks permissions runs too, and each error then names the verb and the
// resource.
func (c *Cluster) Check(ctx context.Context, needed []Permission) error {
	info, err := serverVersion(ctx, c.client)
	if err != nil {
		return fmt.Errorf("clientgo: asking the API server for its version: %w", err)
	}
	switch is, err := version.ParseGeneric(info.GitVersion); {
	case err != nil || is.Major() == 0:
		c.opts.Logger.Warn("the API server does not report its version", "version", info.GitVersion, "oldestSupported", OldestServer)
	case is.LessThan(version.MustParseGeneric(OldestServer)):
		return &ServerTooOldError{Version: info.GitVersion}
	}
	var missing []Permission
	for _, p := range needed {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: p.Namespace, Verb: p.Verb, Group: p.Group, Resource: p.Resource, Subresource: p.Subresource, Name: p.Name,
			},
		}}
		answer, err := c.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		switch {
		case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
			return nil // the account may not ask, or there is no authorizer to ask: the requests themselves will show
		case err != nil:
			return fmt.Errorf("clientgo: asking whether %s is allowed: %w", p, err)
		case !answer.Status.Allowed:
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		return &PermissionError{Missing: missing}
	}
	return nil
}

// serverVersion asks for the version and waits no longer than ctx. The discovery client takes no context, and waits half
// a minute for a server that is not there.
func serverVersion(ctx context.Context, client kubernetes.Interface) (*apiversion.Info, error) {
	var (
		info     *apiversion.Info // both are read once answered is closed
		err      error
		answered = make(chan struct{})
	)
	go func() {
		defer close(answered)
		info, err = client.Discovery().ServerVersion()
	}()
	select {
	case <-answered:
		return info, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
