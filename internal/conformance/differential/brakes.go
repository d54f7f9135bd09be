package differential

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/maintenance"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/internal/conformance/rule"
)

// Brake puts on our side what upstream has not.
type Brake func(*simulation.World, evictor.Options) (evictor.Options, error)

// Brakes are those of which the harm is counted, each with the beginning of its row in DIFFERENCES.md.
var Brakes = map[Rule]Brake{
	rule.New("Pause", "a pause stops NoExecute taints and"):   pause,
	rule.New("Hold", "an operator can hold a node, at"):       hold,
	rule.New("Budget", "a budget bounds how many nodes are"):  twoAtATime,
	rule.New("Maintenance", "announced maintenance spares a"): announce,
}

// pause pauses from the second to the fifth minute.
func pause(w *simulation.World, o evictor.Options) (evictor.Options, error) {
	o.Gate = gate.Func(func(_ context.Context, act gate.Act) error {
		if at := w.Clock().Since(epoch); act.Do == gate.Harm && at >= 2*time.Minute && at < 5*time.Minute {
			return errors.New("paused")
		}
		return nil
	})
	return o, nil
}

// some are a fifth of the nodes.
func some(node *v1.Node) bool { return strings.ContainsAny(node.Name[len(node.Name)-1:], "16") }

func hold(_ *simulation.World, o evictor.Options) (evictor.Options, error) {
	o.Hold = func(node *v1.Node) (string, bool) { return "by hand", some(node) }
	return o, nil
}

func twoAtATime(w *simulation.World, o evictor.Options) (evictor.Options, error) {
	b, err := budget.New(budget.Config[string, guard.Member]{
		Bad:    func(m guard.Member) bool { return !m.Ready },
		Bounds: []budget.Bound{{Name: "two", Of: budget.Acting, Max: budget.Count(2)}},
		Clock:  w.Clock(),
	})
	if err != nil {
		return o, err
	}
	g, err := guard.New(b, w.Config().Nodes, guard.Options{})
	if err != nil {
		return o, err
	}
	return g.On(o), nil
}

// announce announces the maintenance of some nodes for three minutes.
func announce(w *simulation.World, o evictor.Options) (evictor.Options, error) {
	a := &maintenance.Announced{For: 3 * time.Minute, Nodes: w.Clients().Nodes, Clock: w.Clock()}
	announced := func(node *v1.Node) *v1.Node {
		if !some(node) {
			return node
		}
		said := *node
		said.Status.Conditions = append(slices.Clone(node.Status.Conditions), v1.NodeCondition{Type: v1.NodeMaintenanceInProgress, Status: v1.ConditionTrue})
		return &said
	}
	o.Hold = func(node *v1.Node) (string, bool) { return a.Hold(announced(node)) }
	o.Excluded = func(node *v1.Node) bool { return a.Excluded(announced(node)) }
	return o, nil
}

// Braked returns the harm that ours does beyond upstream with the brake, and does not without it.
func Braked(ctx context.Context, p *Played, path string, brake Brake) (more []Harm, err error) {
	q := *p
	q.compat, q.brake = compat{}, brake
	if err := q.ours(ctx, path); err != nil {
		return nil, err
	}
	without := p.compared.harms(indexOf(p.plain, p.compared.zoneOf))
	for _, h := range newExplainer(&q).harms(indexOf(q.Ours, p.compared.zoneOf)) {
		if !slices.ContainsFunc(without, func(o Harm) bool { return o.Kind == h.Kind && o.Node == h.Node && o.Pod == h.Pod }) {
			more = append(more, h)
		}
	}
	return more, nil
}
