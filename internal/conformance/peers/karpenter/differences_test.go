package karpenter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/test"
)

// pair is both sides, with one pool and a policy of half an hour.
type pair struct {
	*testing.T
	clock *clocktesting.FakeClock
	k     *theirs
	o     *ours
}

func newPair(t *testing.T) *pair {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	policies := []cloudprovider.RepairPolicy{{
		ConditionType: "BadNode", ConditionStatus: corev1.ConditionFalse, TolerationDuration: 30 * time.Minute, Action: cloudprovider.ReplaceNode,
	}}
	return &pair{t, clock, newTheirs(t, policies, clock), newOurs(t, policies, clock)}
}

func (p *pair) come(status corev1.ConditionStatus) *machine {
	m := &machine{pool: "a"}
	m.claim, m.node = test.NodeClaimAndNode(v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Finalizers: []string{v1.TerminationFinalizer}, Labels: map[string]string{v1.NodePoolLabelKey: m.pool},
	}})
	m.node.Name, m.node.Finalizers = m.claim.Name, nil
	m.node.Status.Conditions = []corev1.NodeCondition{{Type: "BadNode", Status: status, LastTransitionTime: metav1.NewTime(p.clock.Now())}}
	return m
}

func (p *pair) tell(m *machine) {
	p.k.come(m)
	p.o.look(m)
}

// fails makes the condition False, since a time that the node claims.
func (p *pair) fails(m *machine, since time.Duration) {
	m.node.Status.Conditions[0].Status = corev1.ConditionFalse
	m.node.Status.Conditions[0].LastTransitionTime = metav1.NewTime(p.clock.Now().Add(since))
	p.k.report(m)
}

// waits returns how long each side says that it must still wait; 0 means that it repairs.
func (p *pair) waits(m *machine) (theirs, ours time.Duration) {
	answer := p.k.reconcile([]*machine{m})[0]
	ours = p.o.look(m)
	r, err := p.o.budget.Reserve(m.node.Name)
	r.GiveBack()
	require.Equal(p, answer.again == 0, answer.repaired)
	require.Equal(p, ours == 0, err == nil)
	return answer.again, ours
}

func TestAClaimFromBeforeTheLastLookIsNotBelieved(t *testing.T) {
	p := newPair(t)
	m := p.come(corev1.ConditionTrue)
	p.tell(m)
	p.clock.Step(10 * time.Minute)
	p.fails(m, -time.Hour)
	theirs, ours := p.waits(m)
	require.Zero(t, theirs)
	require.Equal(t, 20*time.Minute, ours)
}

func TestAClaimOfTheFutureCountsAsNow(t *testing.T) {
	p := newPair(t)
	m := p.come(corev1.ConditionTrue)
	p.tell(m)
	p.clock.Step(10 * time.Minute)
	p.fails(m, time.Hour)
	theirs, ours := p.waits(m)
	require.Equal(t, 90*time.Minute, theirs)
	require.Equal(t, 30*time.Minute, ours)
}

func TestANodeWithoutItsLabelCountsInItsPool(t *testing.T) {
	p := newPair(t)
	machines := []*machine{p.come(corev1.ConditionFalse), p.come(corev1.ConditionFalse)}
	delete(machines[0].node.Labels, v1.NodePoolLabelKey)
	for range 3 {
		machines = append(machines, p.come(corev1.ConditionTrue))
	}
	for _, m := range machines {
		p.tell(m)
	}
	p.clock.Step(time.Hour)
	p.o.look(machines[0])
	require.True(t, p.k.reconcile(machines[1:2])[0].repaired, "Karpenter sees one of four")
	require.Zero(t, p.o.look(machines[1]))
	_, err := p.o.budget.Reserve(machines[1].node.Name)
	require.ErrorContains(t, err, `budget "a fifth of a pool" allows at most 1 in pool "a": 2 is too many`)
}
