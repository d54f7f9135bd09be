package placement

// AddNode adds a node under the next number.
func (f *Filters) AddNode(n *NodeInfo) {
	f.nodes = append(f.nodes, n)
	if f.index != nil {
		f.index.add(f, int32(len(f.nodes)-1))
	}
}

// NodeChanged takes over what has changed about a node.
func (f *Filters) NodeChanged(i int32) {
	f.Loaded(i)
	if f.spreading != nil && f.tallied {
		f.spreading.look(f, i)
	}
}

// Loaded takes over that a node is loaded otherwise.
func (f *Filters) Loaded(i int32) {
	if f.index != nil {
		f.index.update(f, i)
	}
}

// Relabelled takes over that labels of a node have changed.
func (f *Filters) Relabelled() {
	f.tallied = false
	f.changed()
}

// Occupy counts a pod's requests, ports and claims on its node (+1), or no longer (-1): while it has not finished, even while it
// terminates. The scheduler does not see pods of deleted nodes.
func (f *Filters) Occupy(p Pod, by int) {
	n := f.nodes[p.Node]
	f.uses(p.Spec, by)
	if f.tallied && len(f.tallies) > 0 {
		f.tally(p, by)
	}
	if n.Room != nil {
		n.Room.take(p.needs(), int64(by))
	}
	n.takePorts(p.Spec, by)
	if f.index == nil {
		return
	}
	f.index.version++
	if by < 0 && (n.Room != nil || len(p.needs().ports) > 0) {
		f.index.better(p.Node)
	}
}

// Spread counts a pod for topology spread.
func (f *Filters) Spread(p Pod, by int) {
	if f.spreading != nil && f.tallied {
		f.spreading.tell(f, p, by, nil)
	}
}
