package evictor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// After etcd was restored, resourceVersions are lower. Kubelets that still report are alive, and a dead one is found
// all the same.
func TestVersionsOfARestoredClusterCondemnNobody(t *testing.T) {
	b := &bare{nodes: map[string]*v1.Node{}, pods: map[evictor.PodKey]*v1.Pod{}}
	clk := testingclock.NewFakePassiveClock(evictortest.Epoch)
	e, err := evictor.New(config(), evictor.Clients{Nodes: b, Pods: b, NodeWriter: b, PodWriter: b}, evictor.Options{Clock: clk})
	require.NoError(t, err)
	version := 1000000
	report := func(name string) {
		node := &v1.Node{}
		node.Name, node.UID, node.ResourceVersion = name, "u", fmt.Sprint(version)
		node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(clk.Now())}}
		b.nodes[name] = node
		e.NodeChanged(name)
	}
	for second := range 3600 {
		if second == 60 {
			version = 900000 // of yesterday's backup
		}
		for i := range 5 {
			name := fmt.Sprint("n", i)
			dead := i == 4 && second > 1800
			version++
			if second%10 == 0 && !dead {
				e.LeaseObserved(name, clk.Now(), fmt.Sprint(version))
			}
			if second%60 == 0 && !dead {
				report(name)
			}
		}
		_, err := e.Step(context.Background())
		require.NoError(t, err)
		if second <= 1800 {
			require.Empty(t, b.wrote, "at %ds", second)
		}
		clk.SetTime(clk.Now().Add(time.Second))
	}
	require.Contains(t, b.wrote, "n4 Ready NodeStatusUnknown")
	for _, wrote := range b.wrote {
		require.Contains(t, wrote, "n4")
	}
}
