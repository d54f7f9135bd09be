package health

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// versioned returns a node with that resourceVersion.
func versioned(name, uid string, version int, status v1.ConditionStatus, heartbeat float64) *v1.Node {
	n := node(name, uid, status, 0)
	n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(at(heartbeat))
	n.ResourceVersion = fmt.Sprint(version)
	return n
}

// cluster is five nodes, the last of them dead since second 0. As in etcd, one counter gives all versions.
type cluster struct {
	*watch
	version int
}

func clusterOfFive(t *testing.T, period time.Duration) *cluster {
	c := &cluster{watch: watching(t, period), version: 1000}
	c.beat(0, 5)
	c.to(0)
	c.live(10, 100)
	return c
}

func (c *cluster) beat(s float64, nodes int) {
	for i := range nodes {
		name := fmt.Sprint("node-", i)
		c.version++
		c.ObserveNode(versioned(name, "u", c.version, v1.ConditionTrue, s))
		c.version++
		c.ObserveLease(name, at(s), fmt.Sprint(c.version))
	}
}

// live lets time pass in which four nodes beat.
func (c *cluster) live(from, to float64) {
	for s := from; s <= to; s += 10 {
		c.to(s)
		c.beat(s, 4)
		for i := range 4 {
			v, _ := c.Verdict(fmt.Sprint("node-", i))
			require.Equal(c.t, v1.ConditionTrue, v.Ready, "at %v", s)
		}
	}
}

// dead requires that a version of the dead node, and of its lease, is no sign of life.
func (c *cluster) dead(version int, stamp float64, stale bool) {
	require.Equal(c.t, Observation{Stale: stale}, c.ObserveNode(versioned("node-4", "u", version, v1.ConditionTrue, stamp)), version)
	require.False(c.t, c.ObserveLease("node-4", at(stamp), fmt.Sprint(version+1)))
	c.to(c.clk.Now().Sub(epoch).Seconds() + 5)
	v, _ := c.Verdict("node-4")
	require.Equal(c.t, v1.ConditionUnknown, v.Ready)
}

// After etcd was restored from a backup, the versions are lower but the objects are alive, except for the dead one, of
// which the backup shows an older state.
func TestARestoredBackupFreezesNobody(t *testing.T) {
	for _, period := range periods {
		c := clusterOfFive(t, period)
		c.dead(1009, 0, false) // still the newest
		c.version = 500
		c.dead(400, -60, true)
		c.live(110, 200)
		c.dead(400, -60, false)
		require.Equal(t, Observation{Heartbeat: true}, c.ObserveNode(versioned("node-4", "u", 600, v1.ConditionTrue, 201)))
		require.Equal(t, Observation{Heartbeat: true}, c.ObserveNode(versioned("node-4", "u", 601, v1.ConditionTrue, -50)), "with a clock that was set back")
	}
}

// A stale cache may show old objects for as long as it likes, in any order, between the newest ones.
func TestAStaleCacheRevivesNobody(t *testing.T) {
	for _, period := range periods {
		c := clusterOfFive(t, period)
		c.dead(1009, 0, false)
		c.dead(900, -60, true)
		c.live(110, 200)
		c.dead(900, -60, false)
		c.dead(950, -30, false)
		c.dead(1009, 0, false)
		c.dead(950, -30, true)
		require.True(t, c.ObserveNode(versioned("node-4", "u", 2000, v1.ConditionTrue, -40)).Heartbeat, "whose clock was set back")
		require.True(t, c.ObserveNode(versioned("node-4", "u", 1999, v1.ConditionTrue, 1)).Heartbeat, "no cache can hold that")
		require.True(t, c.ObserveNode(versioned("node-4", "u", 1999, v1.ConditionFalse, 1)).Stale)
	}
}

// A lease belongs to a name: the node's successor does not make an old version of it new.
func TestVersionsOutliveTheNode(t *testing.T) {
	w := watching(t, 5*time.Second)
	w.ObserveNode(versioned("a", "1", 100, v1.ConditionTrue, 0))
	w.to(0)
	require.True(t, w.ObserveLease("a", at(0), "50"))
	require.Equal(t, Observation{Heartbeat: true}, w.ObserveNode(node("a", "2", v1.ConditionTrue, 1)), "which shows no version")
	require.False(t, w.ObserveLease("a", at(-1), "40"))
	require.False(t, w.ObserveLease("a", at(0), "50"), "the last one again")
	require.True(t, w.ObserveLease("a", at(2), "101"))
	require.True(t, w.ObserveNode(versioned("a", "1", 99, v1.ConditionTrue, 3)).Stale)
	require.True(t, w.Forget("a", ""))
	require.False(t, w.ObserveNode(versioned("a", "1", 99, v1.ConditionTrue, 3)).Stale)
}
