// Package rollout answers: how does my operator replace nodes only at night, and only a share of a pool at a time,
// failed nodes included?
//
// The operator taints a node that runs an old image, the evictor evicts its pods, and a machine service replaces it under
// the same name. The operator asks a budget, which the evictor keeps up to date. So it takes fewer nodes from a pool in
// which some have failed. The nodes' taints say what was begun, so a restart forgets nothing. The test plays nights in
// virtual time.
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

// NewBudget makes the budget for the operator and for evictor.Options. It never refuses the evictor, which acts only on
// failed nodes.
func NewBudget(clock clock.PassiveClock) (*budget.Budget[string, evictor.Member], error) {
	return budget.New(budget.Config[string, evictor.Member]{
		Clock: clock,
		Dimensions: map[string]func(evictor.Member) (string, bool){
			"pool":   func(m evictor.Member) (string, bool) { pool, some := m.Labels[Pool]; return pool, some },
			"failed": func(m evictor.Member) (string, bool) { return "", !m.Ready },
		},
		Bad:    func(m evictor.Member) bool { return !m.Ready },
		Bounds: []budget.Bound{{Name: "a quarter of a pool", Per: "pool", Without: "failed", Of: budget.Unavailable, Max: budget.Percent(25)}},
	})
}

// Operator replaces the nodes that do not run its Image.
type Operator struct {
	Clients evictor.Clients // on a cluster, those of package clientgo
	Budget  *budget.Budget[string, evictor.Member]
	Clock   clock.PassiveClock
	Image   string
	// Opens and Closes are hours of the day in UTC: nothing begins outside them, but what has begun goes on.
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
	opens := o.Opens <= now.UTC().Hour() && now.UTC().Hour() < o.Closes
	for _, node := range nodes {
		if i := slices.IndexFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(&Taint) }); i >= 0 {
			known, failed := o.goOn(ctx, node, taints.PlausibleStart(&node.Spec.Taints[i], node.CreationTimestamp.Time, now))
			opens, err = opens && known, errors.Join(err, failed)
		}
	}
	for _, node := range nodes { // last, because what goes on counts
		if opens && node.Labels[Image] != o.Image {
			err = errors.Join(err, o.begin(ctx, node))
		}
	}
	return now.Add(time.Minute), err
}

// goOn takes the next step with a node that is being replaced. If an earlier process began that, goOn tells the budget;
// known says whether the budget knows of it now.
func (o *Operator) goOn(ctx context.Context, node *v1.Node, began time.Time) (known bool, err error) {
	mine := o.Budget.As("rollout")
	known = mine.Adopt(node.Name, began)
	switch {
	case node.Labels[Image] == o.Image:
		if err = o.taint(ctx, node); err == nil {
			mine.End(node.Name)
		}
	case o.empty(node.Name):
		err = o.Replace(node.Name)
	}
	return known, err
}

// begin begins to replace a node, if the budget allows it and nobody acts on the node yet.
func (o *Operator) begin(ctx context.Context, node *v1.Node) error {
	reservation, err := o.Budget.As("rollout").Reserve(node.Name)
	if err != nil {
		return nil //nolint:nilerr // a later Step asks again
	}
	if err := o.taint(ctx, node, Taint); err != nil {
		reservation.GiveBack()
		return err
	}
	reservation.Commit()
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
		empty = ended || taints.Tolerate([]v1.Taint{Taint}, pod.Spec.Tolerations).Forever
		return empty
	})
	return empty
}
