package health

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// versioned returns a report with that resourceVersion.
func versioned(name, uid string, version int, status v1.ConditionStatus, heartbeat float64) report {
	r := report{Node: name, UID: types.UID(uid), ResourceVersion: fmt.Sprint(version), Created: epoch, Ready: status, Heartbeat: at(heartbeat)}
	if version == 0 {
		r.ResourceVersion = ""
	}
	return r
}

// cluster is five nodes, the last of them dead. As in etcd, one counter gives all versions.
type cluster struct {
	*watch
	version int
}

func clusterOfFive(t *testing.T, period time.Duration) *cluster {
	c := &cluster{watch: watching(t, period), version: 1000}
	c.beat(0, 5)
	c.to(0)
	for s := 10.0; s <= 100; s += 10 {
		c.to(s)
		c.beat(s, 4)
	}
	v, _ := c.Verdict("node-4")
	require.Equal(t, v1.ConditionUnknown, v.Ready)
	return c
}

func (c *cluster) beat(s float64, nodes int) {
	for i := range nodes {
		name := fmt.Sprint("node-", i)
		c.version++
		c.seen(versioned(name, "u", c.version, v1.ConditionTrue, s))
		c.version++
		c.ObserveLease(name, at(s), fmt.Sprint(c.version))
	}
}

func (c *cluster) ready() (ready []v1.ConditionStatus) {
	for i := range 5 {
		v, _ := c.Verdict(fmt.Sprint("node-", i))
		ready = append(ready, v.Ready)
	}
	return ready
}

var fourAlive = []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionTrue, v1.ConditionTrue, v1.ConditionTrue, v1.ConditionUnknown}

// After etcd was restored from a backup, the versions are lower but the objects are alive, except for the dead one, of
// which the backup shows an older state.
func TestVersionsFallForAll(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		c := clusterOfFive(t, period)
		require.Equal(t, fourAlive, c.ready())
		c.version = 500
		for i := range 5 { // a relist, before anybody beats
			c.version++
			require.Equal(t, Observation{Stale: true}, c.seen(versioned(fmt.Sprint("node-", i), "u", c.version, v1.ConditionTrue, -60)))
			require.False(t, c.ObserveLease(fmt.Sprint("node-", i), at(-60), fmt.Sprint(c.version)))
		}
		for s := 110.0; s <= 4000; s += 10 {
			c.beat(s, 4)
			c.to(s)
			require.Equal(t, fourAlive, c.ready(), "at %v", s)
		}
		for range 2 { // relists after it
			require.Equal(t, Observation{}, c.seen(versioned("node-4", "u", 505, v1.ConditionTrue, -60)), "believed, but no sign of life")
			require.False(t, c.ObserveLease("node-4", at(-60), "506"))
			c.to(4010)
			require.Equal(t, v1.ConditionUnknown, c.ready()[4])
		}
		require.Equal(t, Observation{Stale: true}, c.seen(versioned("node-4", "u", 504, v1.ConditionTrue, -70)), "compared anew")
		require.Equal(t, Observation{Stale: true}, c.seen(versioned("node-0", "u", 504, v1.ConditionTrue, -70)))
		c.version++
		require.Equal(t, Observation{}, c.seen(versioned("node-0", "u", c.version, v1.ConditionFalse, 4000)), "what is no heartbeat is believed too")
		require.True(t, c.seen(versioned("node-4", "u", c.version, v1.ConditionTrue, -50)).Heartbeat, "it is back, with a clock that is behind")
	}
}

// A relist from a stale cache: every object is older, and has no stamp that was not seen before.
func TestStaleRelistIsNoRestore(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		c := clusterOfFive(t, period)
		for again := range 3 {
			for i := range 5 {
				name := fmt.Sprint("node-", i)
				require.Equal(t, Observation{Stale: true}, c.seen(versioned(name, "u", 900+i, v1.ConditionTrue, float64(-again))))
				require.False(t, c.ObserveLease(name, at(float64(-again)), fmt.Sprint(900+i)))
			}
		}
		require.Len(t, c.to(200), 4, "all are silent now")
		for i := range 5 {
			require.True(t, c.seen(versioned(fmt.Sprint("node-", i), "u", 2000, v1.ConditionTrue, -100)).Heartbeat, "whose clock steps back is alive")
		}
		require.Equal(t, Observation{Stale: true}, c.seen(versioned("node-0", "u", 1999, v1.ConditionTrue, 100)), "not later than it once was")
		require.Equal(t, Observation{Heartbeat: true}, c.seen(versioned("node-0", "u", 1999, v1.ConditionTrue, 101)))
		require.Equal(t, Observation{Stale: true}, c.seen(versioned("node-0", "u", 1999, v1.ConditionFalse, 101)), "one object begins no epoch")
		require.Equal(t, Observation{}, c.seen(versioned("node-0", "u", 2001, v1.ConditionFalse, 101)))
		require.Equal(t, Observation{Heartbeat: true}, c.seen(versioned("node-1", "u", 1999, v1.ConditionTrue, 101)))
		require.Equal(t, Observation{Stale: true}, c.seen(versioned("node-1", "u", 1999, v1.ConditionFalse, 101)), "the other has taken it back")
		require.True(t, c.Forget("node-1", "u"))
		require.Equal(t, Observation{Heartbeat: true}, c.seen(versioned("node-2", "u", 1999, v1.ConditionTrue, 101)))
		require.Equal(t, Observation{Stale: true}, c.seen(versioned("node-2", "u", 1999, v1.ConditionFalse, 101)), "the other is gone")
	}
}

// A lease belongs to a name: the node's successor does not make an old version of it new.
func TestVersionsOutliveTheNode(t *testing.T) {
	w := watching(t, 5*time.Second)
	w.seen(versioned("a", "1", 100, v1.ConditionTrue, 0))
	w.to(0)
	require.True(t, w.ObserveLease("a", at(0), "50"))
	require.True(t, w.seen(versioned("a", "2", 0, v1.ConditionTrue, 1)).New, "which shows no version")
	require.False(t, w.ObserveLease("a", at(-1), "40"))
	require.False(t, w.ObserveLease("a", at(0), "50"), "the last one again")
	require.True(t, w.ObserveLease("a", at(2), "101"))
	require.True(t, w.seen(versioned("a", "1", 99, v1.ConditionTrue, 3)).Stale)
	require.True(t, w.Forget("a", ""))
	require.True(t, w.seen(versioned("a", "1", 99, v1.ConditionTrue, 3)).New)
}
