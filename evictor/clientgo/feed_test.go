package clientgo

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo/internal/slim"
)

// fed is a Target that keeps what it was told.
type fed struct{ told []string }

func (f *fed) NodeChanged(name string)       { f.told = append(f.told, "node "+name) }
func (f *fed) PodChanged(key evictor.PodKey) { f.told = append(f.told, "pod "+key.String()) }
func (f *fed) LeaseObserved(node string, at time.Time, version string) {
	f.told = append(f.told, fmt.Sprint("lease ", node, " ", at.Unix(), " ", version))
}
func (*fed) SetObserverHealth(error) {}

func renewedAt(namespace string, uid types.UID, version string, seconds int64) *coordinationv1.Lease {
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "n", UID: uid, ResourceVersion: version}}
	if seconds > 0 {
		at := metav1.NewMicroTime(time.Unix(seconds, 0))
		l.Spec.RenewTime = &at
	}
	return l
}

// TestOnlyRenewalsAreTold, and only those of nodes: shared informers bring the leases of leaders too.
func TestOnlyRenewalsAreTold(t *testing.T) {
	const nodes = v1.NamespaceNodeLease
	f := &fed{}
	g := newGuard(&Cluster{opts: Options{Clock: clock.RealClock{}}})
	g.tell(f)
	h := renewals(g.renewed)
	first := renewedAt(nodes, "uid", "1", 100)
	h.OnAdd(first, true)
	h.OnAdd(renewedAt("kube-system", "uid", "2", 100), true)
	h.OnAdd(renewedAt(nodes, "uid", "3", 0), true)
	h.OnUpdate(first, renewedAt(nodes, "uid", "4", 100)) // of its annotations, say
	h.OnUpdate(first, renewedAt(nodes, "uid", "5", 110))
	h.OnUpdate(first, renewedAt(nodes, "another", "6", 100))
	h.OnUpdate(renewedAt("kube-system", "uid", "6", 100), renewedAt("kube-system", "uid", "7", 110))
	h.OnDelete(first)
	require.Equal(t, []string{"lease n 100 1", "lease n 110 5", "lease n 100 6"}, f.told)
}

func TestATombstoneStandsForItsObject(t *testing.T) {
	f := &fed{}
	whole := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}}
	nodeHandler(f).OnDelete(cache.DeletedFinalStateUnknown{Key: "n", Obj: versionOf("1")})
	podHandler(f).OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/p", Obj: slim.Keep{}.Pod(whole)})
	podHandler(f).OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/p", Obj: whole})
	require.Equal(t, []string{"node n", "pod shop/p", "pod shop/p"}, f.told)
}
