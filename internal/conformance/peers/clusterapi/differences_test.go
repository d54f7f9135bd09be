package clusterapi

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// one plays a machine whose node is healthy at first. It is unhealthy once Ready has been False for ten minutes.
func one(t *testing.T, play func(c *theirs, o *ours, check *clusterv1.MachineHealthCheck, m *machine)) {
	r := newReconciler(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(0)
		w.check.Spec.Remediation.TriggerIf = clusterv1.MachineHealthCheckRemediationTriggerIf{}
		w.check.Spec.Checks = clusterv1.MachineHealthCheckChecks{
			NodeStartupTimeoutSeconds: ptr.To[int32](0),
			UnhealthyNodeConditions:   []clusterv1.UnhealthyNodeCondition{{Type: "Ready", Status: corev1.ConditionFalse, TimeoutSeconds: ptr.To[int32](600)}},
		}
		c, o, m := newTheirs(t, r, w.check), newOurs(t, w.check), w.machines[0]
		delete(m.Annotations, clusterv1.PausedAnnotation)
		delete(m.Annotations, clusterv1.MachineSkipRemediationAnnotation)
		m.Status.NodeRef.Name = m.Name
		m.node = []corev1.NodeCondition{{Type: "Ready", Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		c.write(m)
		o.look(m)
		play(c, o, w.check, m)
	})
}

// fails makes the node's Ready condition False, since a time that the node claims.
func (c *theirs) fails(m *machine, since time.Duration) {
	m.node[0].Status, m.node[0].LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(time.Now().Add(since))
	c.write(m)
}

func TestAClaimFromBeforeTheLastLookIsNotBelieved(t *testing.T) {
	one(t, func(c *theirs, o *ours, check *clusterv1.MachineHealthCheck, m *machine) {
		time.Sleep(5 * time.Minute)
		c.fails(m, -time.Hour)
		c.reconcile(check)
		require.True(t, c.waits(m))
		unhealthy, left := o.look(m)
		require.False(t, unhealthy)
		require.Equal(t, 5*time.Minute, left)
	})
}

func TestAClaimOfTheFutureCountsAsNow(t *testing.T) {
	one(t, func(c *theirs, o *ours, check *clusterv1.MachineHealthCheck, m *machine) {
		time.Sleep(5 * time.Minute)
		c.fails(m, time.Hour)
		again, _ := c.reconcile(check)
		require.Equal(t, 70*time.Minute+time.Second, again)
		_, left := o.look(m)
		require.Equal(t, 10*time.Minute, left)
	})
}

func TestWhatIsDueIsUnhealthyAtTheInstant(t *testing.T) {
	one(t, func(c *theirs, o *ours, check *clusterv1.MachineHealthCheck, m *machine) {
		c.fails(m, 0)
		o.look(m)
		time.Sleep(10 * time.Minute)
		again, _ := c.reconcile(check)
		require.Equal(t, time.Second, again)
		require.False(t, c.waits(m))
		unhealthy, _ := o.look(m)
		require.True(t, unhealthy)
	})
}

// The infrastructure of a machine becomes ready late, the machine has no node then, and later the infrastructure is not
// ready any more.
func TestAWaitForANodeDoesNotBeginEarlierThanItWasSeenTo(t *testing.T) {
	one(t, func(c *theirs, o *ours, check *clusterv1.MachineHealthCheck, m *machine) {
		o.leave(m)
		check.Spec.Checks.NodeStartupTimeoutSeconds = ptr.To[int32](600)
		require.NoError(t, c.client.Update(context.Background(), check))
		o = newOurs(t, check)
		m = &machine{Machine: m.DeepCopy()}
		m.Name, m.ResourceVersion, m.Status.NodeRef.Name, m.CreationTimestamp = "late", "", "", metav1.NewTime(time.Now().Add(-time.Hour))
		m.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionTrue, Reason: "Is", LastTransitionTime: metav1.Now(),
		}}
		c.write(m)
		_, left := o.look(m)
		require.Equal(t, 10*time.Minute, left)
		time.Sleep(time.Minute)
		m.Status.Conditions[0].Status, m.Status.Conditions[0].LastTransitionTime = metav1.ConditionFalse, metav1.Now()
		c.write(m)
		c.reconcile(check)
		require.True(t, c.waits(m), "Cluster API counts from its creation")
		_, left = o.look(m)
		require.Equal(t, 9*time.Minute, left, "it began when it was last looked at, at the latest")
	})
}
