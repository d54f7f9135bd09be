// Package rollout answers: how does my operator replace nodes only at night, and only a share of a pool at a time,
// counting those that have failed by themselves?
//
// The operator taints a node that runs an old image, the evictor evicts its pods, and a machine service replaces it. Both
// ask one budget, so a pool that has lost nodes spares the others. The nodes' taints say what was begun, so a restart forgets
// nothing. The test plays nights in virtual time.
package rollout

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/taints"
)

// Labels of a node: its pool, and the image that it runs.
const (
	Pool  = "example.com/pool"
	Image = "example.com/image"
)

// Taint is on the nodes that are being replaced.
var Taint = v1.Taint{Key: "example.com/rollout", Effect: v1.TaintEffectNoExecute}

// NewBudget makes the budget for the operator and for evictor.Options; the evictor tells it about the nodes.
func NewBudget(clock clock.PassiveClock) (*budget.Budget[string, evictor.Member], error) {
	return budget.New(budget.Config[string, evictor.Member]{
		Clock: clock,
		Dimensions: map[string]func(evictor.Member) (string, bool){
			"pool": func(m evictor.Member) (string, bool) { pool, some := m.Labels[Pool]; return pool, some },
		},
		Bad:    func(m evictor.Member) bool { return !m.Ready },
		Bounds: []budget.Bound{{Name: "a quarter of a pool", Per: "pool", Of: budget.Unavailable, Max: budget.Percent(25)}},
	})
}

// Operator replaces the nodes that do not run its Image.
type Operator struct {
	Clients evictor.Clients // on a cluster, those of package clientgo
	Budget  *budget.Budget[string, evictor.Member]
	Clock   clock.PassiveClock
	Image   string
	// Opens and Closes are hours of the day in UTC: nothing begins outside of them, but what has begun goes on.
	Opens, Closes int
	// Replace has the machine service replace an empty node. It is called again until the node has the image.
	Replace func(node string) error
}

// Step does what is due, and says when to call it again.
func (o *Operator) Step(ctx context.Context) (next time.Time, err error) {
	now := o.Clock.Now()
	var nodes []*v1.Node
	o.Clients.Nodes.Nodes(func(node *v1.Node) bool { nodes = append(nodes, node); return true })
	slices.SortFunc(nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, node := range nodes {
		err = errors.Join(err, o.sync(ctx, node, now))
	}
	return now.Add(time.Minute), err
}

// sync does the next thing that a node needs.
func (o *Operator) sync(ctx context.Context, node *v1.Node, now time.Time) error {
	mine, old := o.Budget.As("rollout"), node.Labels[Image] != o.Image
	begun := slices.IndexFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(&Taint) })
	switch {
	case begun >= 0 && old:
		// An earlier process may have begun it; otherwise this changes nothing.
		mine.Adopt(node.Name, taints.PlausibleStart(&node.Spec.Taints[begun], node.CreationTimestamp.Time, now))
		if o.empty(node.Name) {
			return o.Replace(node.Name)
		}
	case begun >= 0:
		if err := o.taint(ctx, node); err != nil {
			return err
		}
		mine.End(node.Name)
	case old && o.Opens <= now.UTC().Hour() && now.UTC().Hour() < o.Closes:
		reservation, err := mine.Reserve(node.Name)
		if err != nil {
			return nil //nolint:nilerr // a *budget.Refusal, or the evictor acts on the node: a later Step asks again
		}
		if err := o.taint(ctx, node, Taint); err != nil {
			reservation.GiveBack()
			return err
		}
		reservation.Commit()
	}
	return nil
}

// taint gives a node these of the operator's taints.
func (o *Operator) taint(ctx context.Context, node *v1.Node, want ...v1.Taint) error {
	change := taints.Diff(node.Spec.Taints, want, func(t *v1.Taint) bool { return t.MatchTaint(&Taint) })
	return o.Clients.NodeWriter.UpdateTaints(ctx, node, change)
}

// empty says whether only pods that stay are left, such as those of DaemonSets.
func (o *Operator) empty(node string) bool {
	empty := true
	o.Clients.Pods.PodsOnNode(node, func(pod *v1.Pod) bool {
		ended := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		empty = ended || taints.Tolerate(taints.NoExecute([]v1.Taint{Taint}), pod.Spec.Tolerations).Forever
		return empty
	})
	return empty
}
