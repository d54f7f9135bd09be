package simulation

import "fmt"

// action is all that is known of one kind of event. A new kind is a field of Event, with a case of does and what it returns.
type action struct {
	// nodes are those that it chooses among, nil if it chooses none. On those it has something to do on, and does it.
	nodes *Nodes
	on    func(p *player, n *node) bool // nil means all
	do    func(p *player, e *Planned, n *node)
	// done, if not nil, is called once it was done to all of them.
	done func(p *player, e *Planned)
	// play, if not nil, is called instead of all that.
	play func(p *player, e *Planned) error

	replaces bool                  // nodes go: traces look again for those that they drive
	machines bool                  // it happens to machines and networks, and is no call to the API
	kubelets bool                  // it decides which kubelets are live
	may      func(p *player) error // what keeps it from happening now; nil if nothing can
	check    func(f faults)        // reports the faults of what is not nodes; nil if there can be none
	words    string                // instead of its name and the nodes
	more     string                // after them
}

// does returns what is known of the event.
func (e *Event) does() action {
	switch {
	case e.Fail != nil:
		return failure(e.Fail)
	case e.Recover != nil:
		return recovery(e.Recover)
	case e.Partition != nil:
		return e.Partition.action()
	case e.LoseLeases != nil:
		return e.LoseLeases.action()
	case e.ShowLeases != nil:
		return shownAgain(e.ShowLeases)
	case e.Condition != nil:
		return e.Condition.action()
	case e.Taint != nil:
		return e.Taint.action()
	case e.Untaint != nil:
		return e.Untaint.action()
	case e.OutOfService != nil:
		return outage(e.OutOfService)
	case e.Cordon != nil:
		return cordon(e.Cordon, true)
	case e.Uncordon != nil:
		return cordon(e.Uncordon, false)
	case e.Drain != nil:
		return e.Drain.action()
	case e.DeleteNode != nil:
		return deletion(e.DeleteNode)
	case e.ReplaceNode != nil:
		return e.ReplaceNode.action()
	case e.Roll != nil:
		return e.Roll.action()
	case e.AddNode != nil:
		return e.AddNode.action()
	case e.AddPod != nil:
		return e.AddPod.action()
	case e.DeletePod != nil:
		return e.DeletePod.goes((*cluster).deletePod)
	case e.ForceDelete != nil:
		return e.ForceDelete.goes((*cluster).takeAway)
	case e.API != nil:
		return e.API.action()
	case e.Repeat != nil:
		return e.Repeat.action()
	}
	return action{} // of Restart, which the loop plays
}

func (r *Repeat) action() action {
	return action{
		check: func(f faults) { f.add("repeat cannot contain repeat") }, // the plan splits all others into their events
		words: fmt.Sprintf("repeat %d events every %s", len(r.Events), Brief(r.Every)),
	}
}
