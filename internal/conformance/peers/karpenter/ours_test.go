package karpenter

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/internal/conformance/peers/lasting"
)

// ours decides as Karpenter does, with our packages.
type ours struct {
	t         *testing.T
	reasons   map[lasting.Rule][]*regexp.Regexp // one of which must match
	durations *lasting.Durations[string]
	budget    *budget.Budget[string, sight]
}

// sight is what was last seen of a machine.
type sight struct {
	pool     string
	bad, due bool
}

func newOurs(t *testing.T, policies []cloudprovider.RepairPolicy, clock clock.Clock) *ours {
	o := &ours{t: t, reasons: map[lasting.Rule][]*regexp.Regexp{}}
	var rules []lasting.Rule
	for _, p := range policies {
		if p.Action != cloudprovider.ReplaceNode {
			continue
		}
		rule := lasting.Rule{Type: p.ConditionType, Status: p.ConditionStatus, For: p.TolerationDuration}
		if _, known := o.reasons[rule]; !known {
			rules = append(rules, rule)
		}
		o.reasons[rule] = append(o.reasons[rule], regexp.MustCompile(p.ReasonRegex))
	}
	var err error
	o.durations, err = lasting.NewDurations[string](lasting.DurationsConfig{Rules: rules, Clock: clock})
	require.NoError(t, err)
	o.budget, err = budget.New(budget.Config[string, sight]{
		Dimensions: map[string]func(sight) (string, bool){"pool": func(s sight) (string, bool) { return s.pool, s.pool != "" }},
		Bad:        func(s sight) bool { return s.bad },
		Actionable: func(s sight) bool { return s.due },
		Bounds: []budget.Bound{
			{Name: "a fifth of a pool", Per: "pool", Of: budget.Bad, Max: budget.Percent(20).Up()},
			{Name: "a fifth of all, for those in no pool", Without: "pool", Of: budget.Bad, Max: budget.Percent(20).Up()},
		},
		Clock: clock,
	})
	require.NoError(t, err)
	return o
}

// look reports a machine's node as it is now. It returns how long the node must stay as it is until it may be repaired;
// 0 if it is not bad, may be repaired now, or is not Karpenter's.
func (o *ours) look(m *machine) (left time.Duration) {
	name, conditions := m.node.Name, m.node.Status.Conditions
	lasts := slices.DeleteFunc(o.durations.Observe(name, conditions), func(l lasting.Lasting) bool {
		reason := reasonOf(conditions, l.Rule.Type)
		return !slices.ContainsFunc(o.reasons[l.Rule], func(r *regexp.Regexp) bool { return r.MatchString(reason) })
	})
	s := sight{pool: m.pool, bad: len(lasts) > 0}
	if s.bad && m.claim != nil {
		left = slices.MinFunc(lasts, func(a, b lasting.Lasting) int { return int(a.Left - b.Left) }).Left
		s.due = left == 0 && !m.repairing
	}
	o.budget.Set(name, s)
	return left
}

func reasonOf(conditions []corev1.NodeCondition, kind corev1.NodeConditionType) string {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Reason
		}
	}
	return ""
}

func (o *ours) leave(m *machine) {
	require.True(o.t, o.budget.Remove(m.node.Name))
	require.True(o.t, o.durations.Forget(m.node.Name))
}
