package karpenter

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/test"
)

// machine is a machine in the world.
type machine struct {
	node      *corev1.Node
	claim     *v1.NodeClaim // nil if it is not Karpenter's
	pool      string        // according to the claim or, without one, the node; empty for none
	repairing bool
	// Which of its conditions have a timestamp that differs from the time of the change. The two sides may differ about
	// these.
	wrong map[corev1.NodeConditionType]bool
}

// world is a random cluster. It changes at random.
type world struct {
	*rand.Rand
	clock    *clocktesting.FakeClock
	looked   time.Time // before the last changes
	policies []cloudprovider.RepairPolicy
	machines []*machine
	made     int
	strange  bool // some clocks are wrong, and some nodes are added without their pool's label
}

var (
	kinds    = []corev1.NodeConditionType{"BadNode", "Ready", "AcceleratorReady"}
	statuses = []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}
)

func newWorld(seed uint64) *world {
	w := &world{
		Rand:  rand.New(rand.NewPCG(seed, 0)),
		clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
	w.looked, w.strange = w.clock.Now(), w.oneIn(5)
	for range 1 + w.IntN(4) {
		w.policies = append(w.policies, cloudprovider.RepairPolicy{
			ConditionType: kinds[w.IntN(len(kinds))], ConditionStatus: statuses[1+w.IntN(2)],
			ReasonRegex:        []string{"", "", "^Fatal$"}[w.IntN(3)],
			TolerationDuration: time.Duration(1+w.IntN(30)) * time.Minute,
			Action:             cloudprovider.ReplaceNode,
		})
		if w.oneIn(6) && len(w.policies) > 1 {
			w.policies[len(w.policies)-1].Action = cloudprovider.RebootNode
		}
	}
	w.policies[0].Action = cloudprovider.ReplaceNode
	w.come(4 + w.IntN(18))
	return w
}

func (w *world) oneIn(n int) bool { return w.IntN(n) == 0 }

// come adds machines: in two pools, in none, and some that are not Karpenter's.
func (w *world) come(n int) (came []*machine) {
	for range n {
		w.made++
		m := &machine{pool: []string{"a", "a", "a", "b", "b", ""}[w.IntN(6)], wrong: map[corev1.NodeConditionType]bool{}}
		of := v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m%03d", w.made), Finalizers: []string{v1.TerminationFinalizer}}}
		if m.pool != "" {
			of.Labels = map[string]string{v1.NodePoolLabelKey: m.pool}
		}
		m.claim, m.node = test.NodeClaimAndNode(of)
		m.node.Name, m.node.Finalizers, m.node.Status.Conditions = m.claim.Name, nil, nil
		if w.oneIn(8) {
			m.claim = nil
		}
		if m.claim != nil && m.pool != "" && w.strange && w.oneIn(8) {
			delete(m.node.Labels, v1.NodePoolLabelKey)
		}
		for _, kind := range kinds {
			if w.oneIn(10) {
				continue
			}
			c := corev1.NodeCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.clock.Now().Add(-time.Duration(w.IntN(3600)) * time.Second))}
			if w.oneIn(12) {
				c.Status = statuses[1+w.IntN(2)]
			}
			m.node.Status.Conditions = append(m.node.Status.Conditions, c)
		}
		came = append(came, m)
	}
	w.machines = append(w.machines, came...)
	return came
}

// pass lets time pass and things happen. It returns the machines with new reports.
func (w *world) pass() (changed []*machine) {
	w.looked = w.clock.Now()
	w.clock.Step(time.Duration(60+w.IntN(900)) * time.Second)
	outage, hit := "-", kinds[w.IntN(len(kinds))]
	if w.oneIn(4) {
		outage = []string{"a", "b", ""}[w.IntN(3)]
	}
	for _, m := range w.machines {
		told := false
		for i := range m.node.Status.Conditions {
			c := &m.node.Status.Conditions[i]
			switch {
			case c.Type == hit && m.pool == outage && w.oneIn(2), c.Status == corev1.ConditionTrue && w.oneIn(15):
				w.change(m, c, statuses[1+w.IntN(2)])
			case c.Status != corev1.ConditionTrue && w.oneIn(5):
				w.change(m, c, corev1.ConditionTrue)
			default:
				continue
			}
			told = true
		}
		if told {
			changed = append(changed, m)
		}
	}
	return changed
}

// change gives a condition a status, with a timestamp of some second since the last look or, if clocks are wrong,
// another one.
func (w *world) change(m *machine, c *corev1.NodeCondition, to corev1.ConditionStatus) {
	since := int(w.clock.Since(w.looked) / time.Second)
	at := w.clock.Now().Add(-time.Duration(w.IntN(since)) * time.Second)
	m.wrong[c.Type] = w.strange && w.oneIn(6)
	if m.wrong[c.Type] {
		at = w.clock.Now().Add(time.Duration(w.IntN(3600)-1800) * time.Second)
	}
	c.Status, c.LastTransitionTime = to, metav1.NewTime(at)
	c.Reason = []string{"Fatal", "Transient"}[w.IntN(2)]
}
