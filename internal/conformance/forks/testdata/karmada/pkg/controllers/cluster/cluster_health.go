package cluster

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/health"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
)

// clusterHealthMap knows for how long clusters have been silent. A Ready condition or a lease that differs from the last
// one is a sign of life.
type clusterHealthMap struct {
	silence *health.Deadlines[string]

	mu   sync.Mutex
	last map[string]sign
}

type sign struct {
	ready *metav1.Condition
	lease *metav1.MicroTime
}

func newClusterHealthMap() *clusterHealthMap {
	silence, _ := health.NewDeadlines[string](health.DeadlinesConfig{Grace: time.Minute}) // observe sets each cluster's own
	return &clusterHealthMap{silence: silence, last: map[string]sign{}}
}

// observe notes what a cluster shows, and returns for how long it has been silent, and whether that is too long. The lease
// may be nil.
func (m *clusterHealthMap) observe(cluster *clusterv1alpha1.Cluster, lease *coordinationv1.Lease, grace time.Duration) (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, known := m.last[cluster.Name]
	now := sign{ready: ready(cluster), lease: last.lease}
	if lease != nil {
		now.lease = lease.Spec.RenewTime
	}
	if !known && now.ready == nil {
		since := cluster.CreationTimestamp.Time
		if since.IsZero() { // only in a test; a Deadlines would take that for now
			since = time.Unix(0, 0)
		}
		m.silence.Track(cluster.Name, since)
	} else if !equality.Semantic.DeepEqual(last.ready, now.ready) {
		m.silence.Beat(cluster.Name)
	}
	if !now.lease.Equal(last.lease) {
		m.silence.Beat(cluster.Name)
	}
	m.last[cluster.Name] = now
	m.silence.SetGrace(cluster.Name, grace)
	status := m.silence.Get(cluster.Name)
	return status.Silent, status.Late()
}

// wrote notes the condition that the controller itself has written: it is no sign of life.
func (m *clusterHealthMap) wrote(cluster *clusterv1alpha1.Cluster) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.last[cluster.Name]
	last.ready = ready(cluster)
	m.last[cluster.Name] = last
}

func (m *clusterHealthMap) delete(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.last, name)
	m.silence.Forget(name)
}

func ready(cluster *clusterv1alpha1.Cluster) *metav1.Condition {
	return meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady).DeepCopy()
}
