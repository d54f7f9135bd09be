//go:build go1.25

package clientgo_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/gate"
)

// elect lets a replica take part in an election; it takes the lease again whenever it loses it.
func elect(t *testing.T, elections *fake.Clientset, cluster *clientgo.Cluster, id string) {
	t.Helper()
	lock := cluster.Lock(&resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: "n", Name: "l"}, Client: elections.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: id},
	})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			elector.Run(ctx)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

func holder(t *testing.T, elections *fake.Clientset) string {
	t.Helper()
	lease, err := elections.CoordinationV1().Leases("n").Get(context.Background(), "l", metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && lease.Spec.HolderIdentity == nil {
		return ""
	}
	require.NoError(t, err)
	return *lease.Spec.HolderIdentity
}

// looking asks a guarded cluster as an evictor does.
func (g *guarded) looking(t *testing.T) {
	t.Helper()
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			g.cluster.Awaits()
			select {
			case <-time.After(5 * time.Second):
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// TestALeaderWhoseWatchIsBrokenGivesTheLeaseUp to one that sees, and while neither sees nobody has it.
func TestALeaderWhoseWatchIsBrokenGivesTheLeaseUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		elections := fake.NewClientset()
		first, second := startGuarded(t, never), startGuarded(t, never)
		first.looking(t)
		second.looking(t)
		elect(t, elections, first.cluster, "first")
		time.Sleep(5 * time.Second)
		elect(t, elections, second.cluster, "second")
		time.Sleep(2 * time.Minute)
		require.Equal(t, "first", holder(t, elections))
		first.set(func() { first.blind = true })
		time.Sleep(50 * time.Second) // 20 to notice, 10 for the renew deadline, and the looks and tries between
		require.Equal(t, "second", holder(t, elections))
		require.ErrorContains(t, first.cluster.MayLead(), "watches: the watch of leases has stood still")
		require.NoError(t, second.cluster.MayLead())
		second.set(func() { second.blind = true })
		time.Sleep(50 * time.Second)
		for range 60 {
			require.Empty(t, holder(t, elections), "neither sees")
			time.Sleep(5 * time.Second)
		}
		first.set(func() { first.blind = false })
		time.Sleep(20 * time.Second)
		require.Equal(t, "first", holder(t, elections))
	})
}

// runEvictor runs one on a cluster until the test ends.
func runEvictor(t *testing.T, client *fake.Clientset, config evictor.Config, options evictor.Options) *clientgo.Cluster {
	t.Helper()
	cluster, err := clientgo.New(client, clientgo.Options{})
	require.NoError(t, err)
	e, err := evictor.New(config, cluster.Clients(), options)
	require.NoError(t, err)
	runs(t, e.Run)
	return cluster
}

// TestPassesThatDoNotComeAreNamed: here the program's own function hangs.
func TestPassesThatDoNotComeAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		hangs := false
		var mu sync.Mutex
		cluster := runEvictor(t, fake.NewClientset(node("a-0"), lease("a-0")), evictor.DefaultConfig(), evictor.Options{Observer: explain.Observer(func(e explain.Entry) {
			mu.Lock()
			stop := hangs && e.Kind == "Passed"
			mu.Unlock()
			if stop {
				<-hang
			}
		})})
		time.Sleep(time.Minute)
		require.NoError(t, cluster.MayLead())
		mu.Lock()
		hangs = true
		mu.Unlock()
		time.Sleep(15 * time.Second)
		require.NoError(t, cluster.MayLead(), "not yet")
		time.Sleep(15 * time.Second)
		require.True(t, cluster.Clients().Nodes.Synced()) // whoever else asks is no evictor that looks
		require.ErrorContains(t, cluster.MayLead(), "passes: no evictor has looked at the cluster for ")
		mu.Lock()
		hangs = false
		mu.Unlock()
		close(hang)
		time.Sleep(10 * time.Second)
		require.NoError(t, cluster.MayLead())
	})
}

// TestAnEvictorWithNothingToDoLooks: on the exact grid, and where there are no nodes, it looks when there is a reason.
func TestAnEvictorWithNothingToDoLooks(t *testing.T) {
	exact := evictor.DefaultConfig()
	exact.Nodes.NodeMonitorPeriod = 0
	for name, row := range map[string]struct {
		config  evictor.Config
		objects []runtime.Object
	}{
		"exact":    {exact, []runtime.Object{node("a-0"), lease("a-0")}},
		"no nodes": {evictor.DefaultConfig(), nil},
		"neither":  {exact, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := runEvictor(t, fake.NewClientset(row.objects...), row.config, evictor.Options{Gate: gate.Leader(func() error { return errDown })})
				for range 60 {
					time.Sleep(10 * time.Second)
					require.NoError(t, cluster.MayLead())
				}
			})
		})
	}
}

// TestWritesThatAllFailAreNamed: a leader that cannot write gives the lease up, and knows when it can again without one.
func TestWritesThatAllFailAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(node("a-0"), node("a-1"), node("a-2"), lease("a-0"))
		var mu sync.Mutex
		broken := false
		client.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			return broken, nil, apierrors.NewInternalError(errors.New("a webhook is gone"))
		})
		set := func(b bool) {
			mu.Lock()
			defer mu.Unlock()
			broken = b
		}
		set(true)
		var cluster *clientgo.Cluster
		ready := make(chan struct{})
		cluster = runEvictor(t, client, evictor.DefaultConfig(), evictor.Options{Gate: gate.Leader(func() error {
			<-ready
			return cluster.MayLead()
		})})
		close(ready)
		time.Sleep(50 * time.Second)
		require.NoError(t, cluster.MayLead(), "nothing had to be written yet")
		time.Sleep(45 * time.Second)
		require.ErrorContains(t, cluster.MayLead(), "writes: every write has failed for ")
		require.ErrorContains(t, cluster.MayLead(), "a webhook is gone")
		before := len(client.Actions())
		time.Sleep(10 * time.Minute)
		require.Error(t, cluster.MayLead(), "it is asked again and again")
		for _, action := range client.Actions()[before:] {
			if patch, ok := action.(clienttesting.PatchActionImpl); ok {
				require.Equal(t, []string{metav1.DryRunAll}, patch.PatchOptions.DryRun)
			}
		}
		set(false)
		time.Sleep(5 * time.Second)
		require.NoError(t, cluster.MayLead())
		time.Sleep(time.Minute)
		require.NotEmpty(t, taintsOf(t, client))
	})
}

// TestAnAnswerAboutAnObjectIsNoFailureOfWriting: the evictor's writes are of one node, and nobody else's are.
func TestAnAnswerAboutAnObjectIsNoFailureOfWriting(t *testing.T) {
	nodes := v1.Resource("nodes")
	budget := apierrors.NewTooManyRequests("a budget", 10)
	budget.ErrStatus.Details.Causes = append(budget.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause})
	refused, failed := apierrors.NewForbidden(nodes, "n", errors.New("a policy")), apierrors.NewInternalError(errors.New("failed calling webhook"))
	for name, row := range map[string]struct {
		err error
		all bool // of all nodes, not of one
		ill bool
	}{
		"conflict":             {apierrors.NewConflict(nodes, "n", errors.New("changed")), true, false},
		"gone":                 {apierrors.NewNotFound(nodes, "n"), true, false},
		"budget":               {budget, true, false},
		"ours to end":          {context.Canceled, true, false},
		"overload":             {apierrors.NewTooManyRequests("too much to do", 1), true, true},
		"no answer":            {context.DeadlineExceeded, true, true},
		"no answer about one":  {context.DeadlineExceeded, false, false},
		"one refused":          {refused, false, false},
		"everything refused":   {refused, true, true},
		"an error about one":   {failed, false, false},
		"an error about all":   {failed, true, true},
		"a 500 without reason": {twoBudgets, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(node("n-0"), node("n-1"), node("n-2"), node("n-3"))
				client.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
					return row.all || action.(clienttesting.PatchAction).GetName() == "n-0", nil, row.err
				})
				cluster, err := clientgo.New(client, clientgo.Options{})
				require.NoError(t, err)
				runs(t, func(ctx context.Context) error { return errors.Join(cluster.Run(ctx), ctx.Err()) })
				synctest.Wait()
				writer := cluster.Clients().NodeWriter
				for range 8 {
					require.Error(t, writer.UpdateLabels(t.Context(), node("n-0"), nil))
					time.Sleep(3 * time.Second)
				}
				for _, part := range cluster.Parts() {
					if part.Name == "writes" {
						require.Equal(t, row.ill, part.Err != nil, part.Err)
					}
				}
			})
		})
	}
}
