package evictor_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/taints"
)

// upstreams is a cluster of objects like those of upstream's tests. It shows what is written, and its kubelets do only
// what the test says.
type upstreams struct {
	bare
	t         *testing.T
	clk       *testingclock.FakePassiveClock
	e         *evictor.Evictor
	reporting map[string]bool // repeat their last report at every pass
	fail      func(write string) error
	evicted   []string
	marks     int // tries
}

// upstreamsConfig are the settings of upstream's tests.
func upstreamsConfig() evictor.Config {
	cfg := evictor.DefaultConfig()
	cfg.NodeEvictionRate, cfg.SecondaryNodeEvictionRate, cfg.LargeClusterSizeThreshold = 100000, 100000, 20
	cfg.PodEvictionTimeout = 10 * time.Minute
	return cfg
}

func newUpstreams(t *testing.T, cfg evictor.Config) *upstreams {
	u := &upstreams{
		bare: bare{nodes: map[string]*v1.Node{}, pods: map[evictor.PodKey]*v1.Pod{}},
		t:    t, clk: testingclock.NewFakePassiveClock(evictortest.Epoch),
		reporting: map[string]bool{}, fail: func(string) error { return nil },
	}
	var err error
	u.e, err = evictor.New(cfg, evictor.Clients{Nodes: u, Pods: u, NodeWriter: u, PodWriter: u}, evictor.Options{Clock: u.clk})
	require.NoError(t, err)
	return u
}

// node adds a node that was created that long ago, in a zone or, if zone is empty, in none. It reports that Ready
// status, or nothing.
func (u *upstreams) node(name, zone string, age time.Duration, ready v1.ConditionStatus) {
	n := &v1.Node{}
	n.Name, n.UID, n.Labels = name, types.UID(name), zoneLabels(zone)
	n.CreationTimestamp = metav1.NewTime(u.clk.Now().Add(-age))
	u.nodes[name] = n
	u.says(name, ready)
}

const longAgo = 3 * 365 * 24 * time.Hour

func zoneLabels(zone string) map[string]string {
	if zone == "" {
		return map[string]string{}
	}
	return map[string]string{
		v1.LabelTopologyRegion: "region1", v1.LabelTopologyZone: zone,
		v1.LabelFailureDomainBetaRegion: "region1", v1.LabelFailureDomainBetaZone: zone,
	}
}

// says makes a kubelet report.
func (u *upstreams) says(name string, ready v1.ConditionStatus) {
	if ready == "" {
		u.conditions(name)
		return
	}
	u.conditions(name, v1.NodeCondition{Type: v1.NodeReady, Status: ready})
}

func (u *upstreams) conditions(name string, conditions ...v1.NodeCondition) {
	u.change(name, func(n *v1.Node) {
		for i := range conditions {
			now := metav1.NewTime(u.clk.Now())
			conditions[i].LastHeartbeatTime, conditions[i].LastTransitionTime = now, now
			for _, old := range n.Status.Conditions {
				if old.Type == conditions[i].Type && old.Status == conditions[i].Status {
					conditions[i].LastTransitionTime = old.LastTransitionTime
				}
			}
		}
		n.Status.Conditions = conditions
	})
}

func (u *upstreams) change(name string, change func(*v1.Node)) {
	n := u.nodes[name].DeepCopy()
	change(n)
	u.nodes[name] = n
	u.e.NodeChanged(name)
}

// pod adds a pod that is Ready and tolerates everything.
func (u *upstreams) pod(name, node string) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID, pod.Spec.NodeName = "default", name, types.UID(name), node
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	key := evictor.PodKey{Namespace: "default", Name: name}
	u.pods[key] = pod
	u.e.PodChanged(key)
	return pod
}

// pass lets time pass, and looks once more at the end.
func (u *upstreams) pass(d time.Duration) {
	for until := u.clk.Now().Add(d); ; {
		_, err := u.e.Step(context.Background())
		require.NoError(u.t, err)
		if !u.clk.Now().Before(until) {
			return
		}
		u.clk.SetTime(u.clk.Now().Add(5 * time.Second))
		for name, reports := range u.reporting {
			if !reports {
				continue
			}
			u.conditions(name, slices.Clone(u.nodes[name].Status.Conditions)...)
		}
	}
}

func (u *upstreams) taints(name string) []string {
	list := []string{}
	for _, taint := range u.nodes[name].Spec.Taints {
		list = append(list, taint.ToString())
	}
	slices.Sort(list)
	return list
}

// zoneStates returns the states of the zones, by name.
func (u *upstreams) zoneStates() map[string]string {
	states := map[string]string{}
	for _, z := range u.e.Zones() {
		states[z.Zone.Zone] = fmt.Sprint(z.State)
	}
	return states
}

func (u *upstreams) UpdateConditions(_ context.Context, n *v1.Node, conditions []v1.NodeCondition) error {
	u.change(n.Name, func(n *v1.Node) {
		for _, c := range conditions {
			n.Status.Conditions = append(slices.DeleteFunc(n.Status.Conditions, func(old v1.NodeCondition) bool { return old.Type == c.Type }), c)
		}
	})
	return nil
}

func (u *upstreams) UpdateTaints(_ context.Context, n *v1.Node, change taints.Change) error {
	u.change(n.Name, func(n *v1.Node) { n.Spec.Taints = change.Apply(n.Spec.Taints, u.clk.Now()) })
	return nil
}

func (u *upstreams) UpdateLabels(_ context.Context, n *v1.Node, labels map[string]string) error {
	if err := u.fail("labels"); err != nil {
		return err
	}
	u.change(n.Name, func(n *v1.Node) {
		for key, value := range labels {
			n.Labels[key] = value
		}
	})
	return nil
}

func (u *upstreams) Evict(_ context.Context, p evictor.PodRef, _ evictor.Decision) error {
	u.evicted = append(u.evicted, p.Name)
	delete(u.pods, p.PodKey)
	u.e.PodChanged(p.PodKey)
	return nil
}

func (u *upstreams) MarkNotReady(_ context.Context, p evictor.PodRef) error {
	u.marks++
	if err := u.fail("podStatus"); err != nil {
		return err
	}
	pod := u.pods[p.PodKey].DeepCopy()
	pod.Status.Conditions[0].Status = v1.ConditionFalse
	u.pods[p.PodKey] = pod
	u.e.PodChanged(p.PodKey)
	return nil
}
