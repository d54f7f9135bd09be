//go:build go1.25

package clientgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
)

// lossy is a cluster whose watch of leases loses the renewals of some nodes, with an evictor that runs.
type lossy struct {
	t       *testing.T
	client  *fake.Clientset
	cluster *clientgo.Cluster
	e       *evictor.Evictor

	mu    sync.Mutex
	lost  map[string]bool
	alive map[string]bool
	fails error       // of reads of leases
	spare string      // whose lease can be read all the same
	reads []time.Time // of single leases
	pages []time.Time // of lists, after those of the informer
}

func (l *lossy) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// startLossy gives a test, within its bubble, a cluster of that many nodes whose kubelets renew every ten seconds.
func startLossy(t *testing.T, nodes int) *lossy {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &lossy{t: t, lost: map[string]bool{}, alive: map[string]bool{}}
	var objects []runtime.Object
	for i := range nodes {
		name := fmt.Sprintf("a-%d", i)
		l.alive[name] = true
		objects = append(objects, node(name), lease(name))
	}
	l.client = fake.NewClientset(objects...)
	l.client.PrependWatchReactor("leases", func(action clienttesting.Action) (bool, watch.Interface, error) {
		real, err := l.client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		if err != nil {
			return true, nil, err
		}
		seen, forwarded := watch.NewProxyWatcher(make(chan watch.Event)), make(chan watch.Event)
		go func() {
			defer close(forwarded)
			for event := range real.ResultChan() {
				lease, _ := event.Object.(*coordinationv1.Lease)
				l.mu.Lock()
				lost := l.lost[lease.Name]
				l.mu.Unlock()
				if lost {
					continue
				}
				select {
				case forwarded <- event:
				case <-seen.StopChan():
					return
				}
			}
		}()
		return true, &shownWatch{Interface: real, events: forwarded, stopped: seen.StopChan(), stop: seen.Stop}, nil
	})
	l.client.PrependReactor("get", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.reads = append(l.reads, time.Now())
		get, ok := action.(clienttesting.GetAction)
		return l.fails != nil && (!ok || get.GetName() != l.spare), nil, l.fails
	})
	l.client.PrependReactor("list", "leases", l.page)
	var err error
	l.cluster, err = clientgo.New(l.client, clientgo.Options{})
	require.NoError(t, err)
	l.e, err = evictor.New(evictor.DefaultConfig(), l.cluster.Clients(), evictor.Options{})
	require.NoError(t, err)
	ran := make(chan error)
	go func() { ran <- l.e.Run(ctx) }()
	synctest.Wait()
	l.pages = nil
	t.Cleanup(func() {
		cancel()
		<-ran
	})
	return l
}

// page answers a list as an API server does, which the fake clientset does not: with at most as many items as asked for.
func (l *lossy) page(action clienttesting.Action) (bool, runtime.Object, error) {
	list, is := action.(clienttesting.ListActionImpl)
	if !is || list.ListOptions.Limit == 0 {
		return false, nil, nil
	}
	all, err := l.client.Tracker().List(action.GetResource(), coordinationv1.SchemeGroupVersion.WithKind("Lease"), action.GetNamespace())
	if err != nil {
		return true, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages = append(l.pages, time.Now()); l.fails != nil {
		return true, nil, l.fails
	}
	items := all.(*coordinationv1.LeaseList).Items //nolint:forcetypeassert // it is one
	from := 0
	_, _ = fmt.Sscanf(list.ListOptions.Continue, "%d", &from)
	to := min(from+int(list.ListOptions.Limit), len(items))
	page := &coordinationv1.LeaseList{Items: items[from:to]}
	if page.ResourceVersion = "1"; to < len(items) {
		page.Continue = fmt.Sprint(to)
	}
	if list.ListOptions.ResourceVersion != "" {
		l.t.Errorf("a list that may be old: %+v", list.ListOptions)
	}
	return true, page, nil
}

// pass lets time pass, in which living kubelets renew.
func (l *lossy) pass(d time.Duration) {
	l.t.Helper()
	for ; d > 0; d -= 10 * time.Second {
		renewed := 0
		for name := range l.alive {
			if renewed++; renewed%50 == 0 {
				synctest.Wait() // a fake watch holds a hundred events
			}
			if l.alive[name] {
				_, err := l.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Update(l.t.Context(), lease(name), metav1.UpdateOptions{})
				require.NoError(l.t, err)
			}
		}
		time.Sleep(10 * time.Second)
	}
	synctest.Wait()
}

func (l *lossy) verdict(name string) v1.ConditionStatus {
	status, ok := l.e.Nodes().Node(name)
	require.True(l.t, ok)
	return status.Verdict.Ready
}

func (l *lossy) taints(name string) []v1.Taint {
	n, err := l.client.CoreV1().Nodes().Get(l.t.Context(), name, metav1.GetOptions{})
	require.NoError(l.t, err)
	return n.Spec.Taints
}

// The watch loses one node's renewals: the node lives on, health says so, and everything else goes on as it should.
func TestOneLeaseThatTheWatchLoses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLossy(t, 4)
		l.set(func() { l.lost["a-0"] = true })
		l.pass(5 * time.Minute)
		require.Equal(t, v1.ConditionTrue, l.verdict("a-0"))
		require.Empty(t, l.taints("a-0"))
		var partial *clientgo.PartialError
		require.ErrorAs(t, l.cluster.Health(), &partial)
		require.Equal(t, []string{"a-0"}, partial.Lost)
		require.NoError(t, l.cluster.MayLead(), "it sees well enough to act")
		require.InDelta(t, 7, len(l.reads), 1, "one in three quarters of each grace period, and none for a node that beats")

		l.alive["a-1"] = false
		l.pass(2 * time.Minute)
		require.Equal(t, v1.ConditionUnknown, l.verdict("a-1"), "nobody else waits")
		require.NotEmpty(t, l.taints("a-1"))
		l.alive["a-0"] = false
		l.pass(3 * time.Minute)
		require.Equal(t, v1.ConditionUnknown, l.verdict("a-0"), "what was lost keeps nobody alive")

		l.set(func() { l.lost["a-0"] = false })
		l.alive["a-0"], l.alive["a-1"] = true, true
		l.pass(time.Minute)
		require.NoError(t, l.cluster.Health(), "the watch delivers again")
	})
}

// Nobody may read leases: nothing is decided about the silent node, and that shows.
func TestLeasesThatCannotBeRead(t *testing.T) {
	for name, fails := range map[string]error{
		"forbidden": apierrors.NewForbidden(coordinationv1.Resource("leases"), "a-0", errors.New("no")),
		"no answer": context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := startLossy(t, 3)
				l.set(func() { l.fails = fails })
				l.alive["a-0"], l.alive["a-1"] = false, false
				l.pass(5 * time.Minute)
				require.Equal(t, v1.ConditionTrue, l.verdict("a-0"))
				require.ErrorIs(t, l.cluster.Health(), fails)
				var partial *clientgo.PartialError
				require.False(t, errors.As(l.cluster.Health(), &partial), "while no lease can be read, nothing is done at all")
				require.ErrorIs(t, l.cluster.Unread(), fails)
				require.ErrorIs(t, l.cluster.MayLead(), fails, "another replica may be able to read them")
				require.Less(t, len(l.reads), 2*60, "not even one of each in 5 s")
				l.set(func() { l.fails = nil })
				l.pass(time.Minute)
				require.Equal(t, v1.ConditionUnknown, l.verdict("a-0"))
				require.NoError(t, l.cluster.Health())
				require.NoError(t, l.cluster.Unread())
				require.NoError(t, l.cluster.MayLead())
			})
		})
	}
}

// One lease cannot be read: its node alone waits, until it can.
func TestOneLeaseThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLossy(t, 4)
		l.set(func() { l.fails, l.spare = errDown, "a-1" })
		l.alive["a-0"], l.alive["a-1"] = false, false
		l.pass(5 * time.Minute)
		require.Empty(t, l.taints("a-0"))
		require.NotEmpty(t, l.taints("a-1"))
		l.pass(5 * time.Minute)
		require.ErrorIs(t, l.cluster.Unread(), errDown)
		require.NoError(t, l.cluster.MayLead(), "though it is the only one to be read")
		l.set(func() { l.fails = nil })
		l.pass(2 * time.Minute)
		require.NotEmpty(t, l.taints("a-0"))
	})
}

// A lease that is gone is that of a silent node.
func TestALeaseThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLossy(t, 3)
		l.alive["a-0"] = false
		require.NoError(t, l.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Delete(t.Context(), "a-0", metav1.DeleteOptions{}))
		l.pass(time.Minute)
		require.Equal(t, v1.ConditionUnknown, l.verdict("a-0"))
	})
}

// A few are read one by one, and many by one list, before the pass that would find them silent.
func TestManySilentNodes(t *testing.T) {
	for _, row := range []struct{ nodes, lost, reads, pages int }{{150, 90, 90, 0}, {620, 600, 0, 2}} {
		t.Run(fmt.Sprint(row.lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := startLossy(t, row.nodes)
				l.pass(10 * time.Second)
				l.set(func() {
					for i := range row.lost {
						l.lost[fmt.Sprintf("a-%d", i)] = true
					}
				})
				l.alive["a-7"] = false
				l.pass(50 * time.Second)
				require.Equal(t, v1.ConditionUnknown, l.verdict("a-7"), "it has died")
				for i := range row.lost {
					if name := fmt.Sprintf("a-%d", i); i != 7 {
						require.Equal(t, v1.ConditionTrue, l.verdict(name), name)
					}
				}
				require.InDelta(t, row.reads+1, len(l.reads), 2, "the one that has died is asked about until its verdict")
				require.Len(t, l.pages, row.pages)
				var partial *clientgo.PartialError
				require.ErrorAs(t, l.cluster.Health(), &partial)
				require.Len(t, partial.Lost, row.lost-1)
			})
		})
	}
}

// The client's rate limit is for writes: leases are read when nothing is left of it.
func TestLeasesAreReadBesideTheLimitOfWrites(t *testing.T) {
	var asked []string // the requests come one after another
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+"?"+r.URL.RawQuery)
		w.Header().Set("Content-Type", "application/json")
		var answer any = lease("a-0")
		if !strings.HasSuffix(r.URL.Path, "a-0") {
			answer = &coordinationv1.LeaseList{Items: []coordinationv1.Lease{*lease("a-0")}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(web.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: web.URL, QPS: 1e-9, Burst: 1})
	require.NoError(t, err)
	_, err = client.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(t.Context(), "a-0", metav1.GetOptions{})
	require.NoError(t, err)
	cluster, err := clientgo.New(client, clientgo.Options{})
	require.NoError(t, err)
	alone, listed, err := clientgo.ReadLeases(t.Context(), cluster, "a-0")
	require.NoError(t, err)
	require.False(t, alone.RenewTime.IsZero())
	require.False(t, listed.RenewTime.IsZero())
	const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	require.Equal(t, []string{leases + "/a-0?", leases + "/a-0?", leases + "?limit=500"}, asked)
}
