package simulation

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
)

// AddUnboundObject adds a pod without a node. With rescheduling it is scheduled at time 0, and no other pod has its name while it
// waits. A deleted or completed pod is left out. It is made if a controller creates it only then.
func (c *cluster) AddUnboundObject(object *v1.Pod, made bool) error {
	key := evictor.PodKey{Namespace: object.Namespace, Name: object.Name}
	if _, taken := c.findPod(key); taken || c.unboundKeys[key] {
		return fmt.Errorf("pod %s already exists", key)
	}
	if p := c.podOf(object); !p.terminating && !p.phase.finished() {
		c.unboundKeys[key] = true
		c.unbound = append(c.unbound, comeback{key: key, spec: p.spec, member: p.member, fresh: true, made: made})
	}
	return nil
}

// withdraws deletes a pod that waits for its first node. Its controller makes another that waits, too, so only a pod without one goes.
func (c *cluster) withdraws(key evictor.PodKey) (exists bool) {
	if exists = c.unboundKeys[key]; exists {
		c.forget(func(b comeback) bool {
			goes := b.fresh && b.key == key && b.spec.OwnerKind == ""
			if goes {
				c.leveled(b.member, -1, 0)
				c.lostForGood(key)
			}
			return goes
		})
	}
	return exists
}

// awaitUnbound queues the unbound pods for scheduling at time 0. They are queued as of -after, because the queue lets every
// pod wait for after.
func (c *cluster) awaitUnbound(after time.Duration) {
	for _, b := range c.unbound {
		b.at = int64(-after)
		c.leveled(b.member, 1, 0)
		c.misses(b.spec, 1)
		c.awaits(b)
	}
	c.unbound = nil
}
