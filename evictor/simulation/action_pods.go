package simulation

import (
	"fmt"

	"github.com/evictkit/evictkit/evictor"
)

func (a *AddPod) action() action {
	return action{
		play: func(p *player, _ *Planned) error { return p.addPod(a) }, more: " " + a.Name + " on " + a.Node,
		check: func(f faults) {
			a.PodFields.check(f)
			checkObjectName(f, a.Name)
		},
	}
}

// goes is the action that deletes the pod. In a scenario it may have been evicted meanwhile, so that there is nothing to delete.
func (x *Pod) goes(deletes func(c *cluster, pod int32)) action {
	namespace, name := splitPodName(x.Name)
	return action{
		more: " " + x.Name,
		play: func(p *player, e *Planned) error {
			key := evictor.PodKey{Namespace: namespace, Name: name}
			if i, exists := p.cluster.findPod(key); exists {
				deletes(p.cluster, i)
			} else if !p.cluster.withdraws(key) && e.Number < 0 {
				return fmt.Errorf("pod %s does not exist", x.Name)
			}
			return nil
		},
		check: func(f faults) {
			if name == "" {
				f.missing("name")
			}
		},
	}
}
