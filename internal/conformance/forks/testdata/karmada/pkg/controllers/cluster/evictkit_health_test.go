package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	"github.com/karmada-io/karmada/pkg/util"
)

// TestEvictkitMeasuresSilence has a cluster whose agent renews its lease every ten seconds, or not, for five minutes.
func TestEvictkitMeasuresSilence(t *testing.T) {
	for _, c := range []struct {
		name  string
		renew bool
		ahead time.Duration // of the agent's clock in the first minute
	}{{"an agent that renews", true, 0}, {"an agent that has gone", false, 0}, {"an agent whose clock is put back by an hour", true, time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			controller := newClusterController()
			cluster := &clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull}}
			cluster.Name, cluster.CreationTimestamp = "a", metav1.Now()
			cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionTrue}}
			renewed := metav1.NewMicroTime(began.Add(c.ahead))
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: util.NamespaceClusterLease, Name: "a"}}
			lease.Spec.RenewTime = &renewed
			for _, object := range []client.Object{cluster, lease} {
				if err := controller.Create(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
			unknown := 0
			for range 60 {
				time.Sleep(5 * time.Second)
				since := time.Since(began)
				if c.renew && since%(10*time.Second) == 0 {
					renewed := metav1.NewMicroTime(time.Now())
					if since < time.Minute {
						renewed.Time = renewed.Add(c.ahead)
					}
					lease.Spec.RenewTime = &renewed
					if err := controller.Update(t.Context(), lease); err != nil {
						t.Fatal(err)
					}
				}
				if err := controller.monitorClusterHealth(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := controller.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
					t.Fatal(err)
				}
				if meta.IsStatusConditionPresentAndEqual(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady, metav1.ConditionUnknown) {
					unknown += 5
				}
			}
			t.Logf("MEASURED %s: %d s", c.name, unknown)
		})
	}
}
