package clusterapi

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/internal/conformance/peers/lasting"
)

// ours decides as the check says, with our packages.
type ours struct {
	t         *testing.T
	durations *lasting.Durations[string]
	budget    *budget.Budget[string, sight]
}

// sight is what was last seen of a machine.
type sight struct{ counts, bad, due bool }

// noNode is a condition of machines that have no node yet, in addition to those of machine and node.
const noNode corev1.NodeConditionType = "NoNode"

// ofMachine returns the name that a machine's condition has among those of its node.
func ofMachine(kind string) corev1.NodeConditionType {
	return corev1.NodeConditionType("Machine/" + kind)
}

func newOurs(t *testing.T, check *clusterv1.MachineHealthCheck) *ours {
	var rules []lasting.Rule
	add := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, seconds *int32) {
		rule := lasting.Rule{Type: kind, Status: status, For: max(time.Duration(ptr.Deref(seconds, 0))*time.Second, 1)}
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	for _, c := range check.Spec.Checks.UnhealthyNodeConditions {
		add(c.Type, c.Status, c.TimeoutSeconds)
	}
	for _, c := range check.Spec.Checks.UnhealthyMachineConditions {
		add(ofMachine(c.Type), corev1.ConditionStatus(c.Status), c.TimeoutSeconds)
	}
	if startup := check.Spec.Checks.NodeStartupTimeoutSeconds; *startup > 0 {
		add(noNode, corev1.ConditionTrue, startup)
	}
	durations, err := lasting.NewDurations[string](lasting.DurationsConfig{Rules: rules})
	require.NoError(t, err)
	b, err := budget.New(budget.Config[string, sight]{
		Counts:     func(s sight) bool { return s.counts },
		Bad:        func(s sight) bool { return s.bad },
		Actionable: func(s sight) bool { return s.due },
		Bounds:     []budget.Bound{boundOf(check.Spec.Remediation.TriggerIf)},
	})
	require.NoError(t, err)
	return &ours{t, durations, b}
}

const boundName = "unhealthy machines"

// boundOf returns the bound that a check describes: a range such as [2-5], a number, or a percentage of the machines.
func boundOf(is clusterv1.MachineHealthCheckRemediationTriggerIf) budget.Bound {
	b := budget.Bound{Name: boundName, Of: budget.Bad}
	number := func(s string) int64 { n, _ := strconv.ParseInt(s, 10, 64); return n }
	most := ptr.Deref(is.UnhealthyLessThanOrEqualTo, intstr.FromString("100%"))
	if from, to, ok := strings.Cut(strings.Trim(is.UnhealthyInRange, "[]"), "-"); ok {
		b.Min, b.Max = budget.Count(number(from)), budget.Count(number(to))
	} else if most.Type == intstr.Int {
		b.Max = budget.Count(int64(most.IntVal))
	} else {
		b.Max = budget.Percent(float64(number(strings.TrimSuffix(most.StrVal, "%"))))
	}
	return b
}

// look reports a machine as it is now. It returns whether the machine is unhealthy, and otherwise how long it must stay
// as it is to become unhealthy; 0 if it is healthy.
func (o *ours) look(m *machine) (unhealthy bool, left time.Duration) {
	seen := slices.Clone(m.node)
	for _, c := range m.Status.Conditions {
		seen = append(seen, corev1.NodeCondition{
			Type: ofMachine(c.Type), Status: corev1.ConditionStatus(c.Status), LastTransitionTime: c.LastTransitionTime,
		})
	}
	waitsForNode := !m.Status.NodeRef.IsDefined()
	if waitsForNode {
		seen = append(seen, corev1.NodeCondition{Type: noNode, Status: corev1.ConditionTrue, LastTransitionTime: m.begun()})
	}
	_, unhealthy = m.Annotations[clusterv1.RemediateMachineAnnotation]
	unhealthy = unhealthy || m.node == nil && !waitsForNode
	lasts := o.durations.Observe(m.Name, seen)
	for _, l := range lasts {
		if unhealthy = unhealthy || l.Left == 0; left == 0 || l.Left < left {
			left = l.Left
		}
	}
	if unhealthy {
		left = 0
	}
	o.budget.Set(m.Name, sight{
		counts: !m.skipped(),
		bad:    unhealthy || len(lasts) > 0 || waitsForNode || m.deleting,
		due:    unhealthy && !m.deleting && !m.skipped() && !m.waiting,
	})
	return unhealthy, left
}

func (o *ours) leave(m *machine) {
	require.True(o.t, o.budget.Remove(m.Name))
	require.True(o.t, o.durations.Forget(m.Name))
}
