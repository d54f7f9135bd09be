package simulation

import (
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// stalled says whether deployments, the scheduler, the pod garbage collector and rolls wait for the API.
func (p *player) stalled() bool { return p.apiDown && p.playsOutages() }

// waits says whether an event must wait. What people and other programs do waits while neither they nor kubelets reach the
// API, a new node while kubelets do not. What happens to machines and networks waits only for a node that waits itself.
func (p *player) waits(e *Planned) bool {
	down, a := p.cluster.kubelets.down, e.does()
	switch {
	case !p.playsOutages():
		return false
	case e.Restart != nil: // a new process must list everything
		return p.apiDown
	case e.AddNode != nil || e.registers:
		return down
	case !a.machines:
		return down && p.apiDown
	case len(p.postponed) == 0 || a.nodes == nil:
		return false
	}
	return slices.ContainsFunc(a.nodes.Names, func(name string) bool {
		_, exists := p.cluster.nodeByID[name]
		return !exists
	})
}

// wait puts an event off until the API answers.
func (p *player) wait(e *Planned, at time.Duration) {
	p.postponed = append(p.postponed, *e)
	if e.At < at {
		return // it has waited before
	}
	fields := timeline.Fields{"number": e.Number, "text": e.text() + ": waits until the API is back", "nodes": []string{}}
	if e.Round > 0 {
		fields["round"], fields["inner"] = e.Round, e.Inner
	}
	p.line(timeline.Line{T: at, Kind: timeline.KindEvent, More: fields.String()})
}

// goOnWaiting makes the events happen that waited, as far as they need not wait longer, in the order in which they came.
func (p *player) goOnWaiting() {
	p.events = append(p.postponed, p.events...)
	p.postponed = nil
}
