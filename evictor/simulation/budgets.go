package simulation

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// AddBudget adds a PodDisruptionBudget, with exactly one of MinAvailable and MaxUnavailable set. Deletions ignore it;
// the report says how long fewer pods were live than it needs. Call AddBudget before a simulation.
func (c *cluster) AddBudget(namespace, name string, spec budgetSpec) error {
	const ifHealthyBudget, alwaysAllow = "IfHealthyBudget", "AlwaysAllow"
	policy := ifHealthyBudget
	if spec.UnhealthyPodEvictionPolicy != nil {
		policy = *spec.UnhealthyPodEvictionPolicy
	}
	if policy != ifHealthyBudget && policy != alwaysAllow {
		return fmt.Errorf("unhealthyPodEvictionPolicy: %q is neither %s nor %s", policy, ifHealthyBudget, alwaysAllow)
	}
	chosen, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return err
	}
	b := budget{namespace: namespace, name: name, selector: chosen, alwaysUnhealthy: policy == alwaysAllow, byScale: !absolute(spec.MinAvailable)}
	if b.need, err = needed(spec.MinAvailable, spec.MaxUnavailable); err != nil {
		return err
	}
	c.levels.budgets = append(c.levels.budgets, b)
	added := int32(len(c.levels.budgets) - 1)
	matched := make(map[int32]bool)
	for g := range c.levels.members {
		if c.under(int32(g), added) {
			matched[int32(g)+1] = true
		}
	}
	if len(matched) == 0 {
		return nil
	}
	for i := range c.pods { // pods that were added before their budget
		if p := &c.pods[i]; p.node >= 0 && matched[p.member] {
			c.joins(p, added)
		}
	}
	return nil
}

// joins counts a pod for a budget that was added after it.
func (c *cluster) joins(p *pod, added int32) {
	b := &c.levels.budgets[added]
	b.unscaled(&c.levels.members[p.member-1], 1)
	if p.booked.traits&available != 0 {
		b.healthy++
	}
	if !c.counts(p) {
		return
	}
	have, wanted := 0, 1
	if p.booked.traits&live != 0 {
		have = 1
	}
	if b.byScale {
		wanted = 0 // under has counted its controller's scale
	}
	c.levels.changeBudget(c.now(), added, wanted, have)
}

// absolute says whether minAvailable is a number: then the budget asks for no scale.
func absolute(minAvailable *intstr.IntOrString) bool {
	return minAvailable != nil && minAvailable.Type == intstr.Int
}

// hasScale says whether a controller of that kind says how many pods it wants, in the way that the disruption
// controller asks.
func hasScale(kind string) bool {
	return kind != "" && kind != "Job" && kind != "DaemonSet" && kind != "Node"
}

// exists counts the object of a pod for its controller and its budgets.
func (c *cluster) exists(i int32, by int) {
	member := c.pods[i].member
	if member == 0 {
		return
	}
	g := &c.levels.members[member-1]
	if g.workload >= 0 {
		c.levels.workloads[g.workload].pods += by
	}
	for _, b := range g.budgets {
		c.levels.budgets[b].unscaled(g, by)
	}
}

// unscaled counts a pod whose controller has no scale: while there is one, a budget by scale cannot be computed. Pods
// without a controller play no part in that.
func (b *budget) unscaled(g *membership, by int) {
	if b.byScale && g.kind != "" && !hasScale(g.kind) {
		b.withoutScale += by
	}
}

// expected returns how many pods the controllers of a budget's pods want. A controller counts while it has a pod, and
// one that replaces its pods always has one.
func (c *cluster) expected(b *budget) (all int) {
	for _, i := range b.workloads {
		if w := &c.levels.workloads[i]; hasScale(w.kind) && (c.replaces || w.pods > 0) {
			all += w.desired
		}
	}
	return all
}

// healthy counts a pod that is Ready in the API for its budgets.
func (c *cluster) healthy(i int32, by int) {
	if member := c.pods[i].member; member != 0 {
		for _, b := range c.levels.members[member-1].budgets {
			c.levels.budgets[b].healthy += by
		}
	}
}

const disruptionBudgetCause = "DisruptionBudget" // policyv1.DisruptionBudgetCause, which old versions of k8s.io/api lack

// refusal returns the error with which the eviction API refuses to evict a pod; nil if it allows the eviction. The rules
// are those of the API server. Pods that do not run or are deleted already may always be evicted. A pod that is not Ready
// may be evicted if enough others are Ready, or always if the budget says so. Two budgets for one pod are an error, which
// has no reason.
func (c *cluster) refusal(i int32) error {
	p := &c.pods[i]
	if p.member == 0 || p.terminating || p.phase.finished() || phases[p.phase] == v1.PodPending {
		return nil
	}
	budgets := c.levels.members[p.member-1].budgets
	switch len(budgets) {
	case 0:
		return nil
	case 1:
	default:
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}}
	}
	b := &c.levels.budgets[budgets[0]]
	why := c.keeps(b, p.ready)
	if why == "" {
		return nil
	}
	err := apierrors.NewTooManyRequests("the eviction would violate the pod's disruption budget", 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: disruptionBudgetCause, Message: why}}
	return err
}

// keeps returns why a budget does not let a pod go now; nothing if it does. The figures are those of the disruption
// controller.
func (c *cluster) keeps(b *budget, ready bool) (why string) {
	if !ready && b.alwaysUnhealthy {
		return ""
	}
	if b.withoutScale > 0 {
		return fmt.Sprintf("budget %s counts by scale, and a controller of its pods has none, so it allows nothing", b.name)
	}
	expected := b.desired
	if b.byScale {
		expected = c.expected(b)
	}
	needed := b.need(expected)
	switch {
	case b.healthy > needed && (expected > 0 || !b.byScale):
		return ""
	case !ready && b.healthy >= needed && needed > 0:
		return ""
	}
	return fmt.Sprintf("budget %s needs %d healthy pods and has %d", b.name, needed, b.healthy)
}

// budget is a PodDisruptionBudget's pods.
type budget struct {
	namespace, name string
	selector        labels.Selector
	healthy         int  // pods that are Ready in the API
	byScale         bool // what it needs depends on the scales of its pods' controllers
	withoutScale    int  // pods whose controller has none
	alwaysUnhealthy bool // pods that are not Ready may always be evicted
	workloads       []int32
	Refusals
	level
}

// under adds a budget to a group if the budget selects it.
func (c *cluster) under(g, b int32) bool {
	group, budget := &c.levels.members[g], &c.levels.budgets[b]
	if group.namespace != budget.namespace || !budget.selector.Matches(group.labels.Set()) {
		return false
	}
	group.budgets = append(group.budgets, b)
	if w := group.workload; w >= 0 && !slices.Contains(budget.workloads, w) {
		budget.workloads = append(budget.workloads, w)
		workload := &c.levels.workloads[w]
		workload.budgets = append(workload.budgets, b)
		if budget.lacks() > 0 {
			workload.broken.pass(c.now(), 1)
		}
		if budget.byScale && hasScale(workload.kind) {
			c.levels.changeBudget(c.now(), b, workload.desired, 0)
		}
	}
	return true
}

// changeBudget changes the desired and live numbers of a budget.
func (l *levels) changeBudget(now int64, number int32, desired, have int) {
	b := &l.budgets[number]
	was := b.lacks() > 0
	b.change(now, desired, have)
	if is := b.lacks() > 0; is != was {
		for _, w := range b.workloads {
			l.workloads[w].broken.pass(now, sign[is])
		}
	}
}

// needed returns how many pods must be live, as a function of the desired number. Shares are rounded up, as in the
// disruption controller.
func needed(minAvailable, maxUnavailable *intstr.IntOrString) (func(desired int) int, error) {
	given := minAvailable
	if given == nil {
		given = maxUnavailable
	}
	if given == nil {
		return func(int) int { return 0 }, nil
	}
	percent := -1
	if given.Type == intstr.String {
		text, ok := strings.CutSuffix(given.StrVal, "%")
		n, err := strconv.Atoi(text)
		if err != nil || !ok || n < 0 {
			return nil, fmt.Errorf("%q is neither a number nor a percentage", given.StrVal)
		}
		percent = n
	} else if given.IntVal < 0 {
		return nil, fmt.Errorf("%d is negative", given.IntVal)
	}
	return func(desired int) int {
		n := int(given.IntVal)
		if percent >= 0 {
			n = (desired*percent + 99) / 100
		}
		if minAvailable == nil {
			n = desired - n
		}
		return max(n, 0)
	}, nil
}
