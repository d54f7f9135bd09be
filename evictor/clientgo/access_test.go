package clientgo_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes"
	clientset "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/evictor/clientgo"
)

// account is a client that may do what allowed says, on a server of that version.
func account(git string, allowed func(*authorizationv1.ResourceAttributes) (bool, error)) *clientset.Clientset {
	client := clientset.NewClientset()
	client.Discovery().(*fake.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: git}
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		ok, err := allowed(review.Spec.ResourceAttributes)
		review.Status.Allowed = ok
		return true, review, err
	})
	return client
}

// check is Cluster.Check with that client.
func check(t *testing.T, ctx context.Context, client kubernetes.Interface, needed []clientgo.Permission) error {
	t.Helper()
	cluster, err := clientgo.New(client, clientgo.Options{})
	require.NoError(t, err)
	return cluster.Check(ctx, needed)
}

func everything(*authorizationv1.ResourceAttributes) (bool, error) { return true, nil }

func TestMissingPermissionsAreNamed(t *testing.T) {
	client := account("v1.36.3", func(asked *authorizationv1.ResourceAttributes) (bool, error) {
		return asked.Resource != "leases" && asked.Subresource != "status", nil
	})
	err := check(t, context.Background(), client, clientgo.Options{}.Permissions())
	var missing *clientgo.PermissionError
	require.ErrorAs(t, err, &missing)
	require.Len(t, missing.Missing, 5)
	require.EqualError(t, err, "no permission to patch nodes/status, patch pods/status, get leases.coordination.k8s.io in kube-node-lease, "+
		"list leases.coordination.k8s.io in kube-node-lease, watch leases.coordination.k8s.io in kube-node-lease")
	require.NoError(t, check(t, context.Background(), account("v1.36.3", everything), clientgo.Options{}.Permissions()))
}

// TestWhoMayNotAskIsNotHeldUp: the requests themselves will tell.
func TestWhoMayNotAskIsNotHeldUp(t *testing.T) {
	for _, answer := range []error{apierrors.NewForbidden(authorizationv1.Resource("selfsubjectaccessreviews"), "", nil), apierrors.NewNotFound(authorizationv1.Resource("selfsubjectaccessreviews"), "")} {
		client := account("v1.36.3", func(*authorizationv1.ResourceAttributes) (bool, error) { return false, answer })
		require.NoError(t, check(t, context.Background(), client, clientgo.Options{}.Permissions()))
	}
}

func permissions(o clientgo.Options) (all []string) {
	for _, p := range o.Permissions() {
		all = append(all, p.String())
	}
	return all
}

func TestPermissionsFollowTheOptions(t *testing.T) {
	least := permissions(clientgo.Options{})
	more := permissions(clientgo.Options{EvictionAPI: true, DaemonSets: true, Informers: func(context.Context, clientgo.Object) (clientgo.Informer, error) { return nil, nil }})
	require.Equal(t, []string{
		"list nodes", "watch nodes", "patch nodes", "patch nodes/status", "list pods", "watch pods", "patch pods/status", "delete pods",
		"get leases.coordination.k8s.io in kube-node-lease", "list leases.coordination.k8s.io in kube-node-lease", "watch leases.coordination.k8s.io in kube-node-lease",
		"create events", "patch events",
	}, least)
	require.NotContains(t, more, "delete pods")
	for _, p := range []string{"create pods/eviction", "watch daemonsets.apps", "watch leases.coordination.k8s.io"} {
		require.False(t, slices.Contains(least, p), p)
		require.Contains(t, more, p)
	}
	require.NotContains(t, more, "get leases.coordination.k8s.io", "the guard reads the nodes' ones only")
	require.Contains(t, more, "get leases.coordination.k8s.io in kube-node-lease")
}

func TestAServerThatIsTooOldIsNamed(t *testing.T) {
	for git, old := range map[string]bool{"v1.18.6": true, "v1.21.14-eks-1": true, "v1.22.0": false, "v1.36.3+k3s1": false, "v2.0.0": false, "": false, "unknown": false} {
		err := check(t, context.Background(), account(git, everything), nil)
		var tooOld *clientgo.ServerTooOldError
		require.Equal(t, old, errors.As(err, &tooOld), "%s: %v", git, err)
	}
}

// TestAVersionThatCannotBeReadIsAWarning: servers are built without one, and it is no reason not to start.
func TestAVersionThatCannotBeReadIsAWarning(t *testing.T) {
	for _, git := range []string{"v0.0.0-master+$Format:%H$", "v0.0.0", "unknown", ""} {
		var log bytes.Buffer
		cluster, err := clientgo.New(account(git, everything), clientgo.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		require.NoError(t, cluster.Check(context.Background(), nil), git)
		require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), git)
		require.Contains(t, log.String(), "oldestSupported=1.22")
	}
}

func TestAFailedQuestionIsAnError(t *testing.T) {
	down := errors.New("connection refused")
	client := account("v1.36.3", func(*authorizationv1.ResourceAttributes) (bool, error) { return false, down })
	err := check(t, context.Background(), client, clientgo.Options{}.Permissions())
	require.ErrorIs(t, err, down)
	require.ErrorContains(t, err, "asking whether list nodes is allowed")
}

func TestAServerThatIsNotThereIsNotWaitedFor(t *testing.T) {
	client := account("v1.36.3", everything)
	ctx, cancel := context.WithCancel(context.Background())
	hang := make(chan struct{})
	defer close(hang)
	client.PrependReactor("get", "version", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel() // the program is asked to end
		<-hang
		return false, nil, nil
	})
	require.ErrorIs(t, check(t, ctx, client, nil), context.Canceled)
}
