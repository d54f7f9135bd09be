package outages

import "time"

// half keeps the first or the second half.
func (p *played) half(which int) {
	step := time.Minute
	for _, t := range p.traces {
		step = t.gap
	}
	if middle := (p.until / 2).Truncate(step); which == 1 {
		p.cut(0, middle)
	} else {
		p.cut(middle, p.until)
	}
}

// cut keeps what happens from one time, a multiple of the traces' gap, until another. Nodes that failed before and are still
// away fail at the start.
func (p *played) cut(from, until time.Duration) {
	var kept []event
	failed := make(map[string]bool)
	for _, e := range p.events {
		switch {
		case e.at <= from:
			for _, name := range e.nodes {
				failed[name] = !e.recover
			}
		case e.at < until:
			kept = append(kept, event{e.at - from, e.recover, e.nodes})
		}
	}
	var begin []string
	for i := range p.nodes {
		if failed[p.nodes[i].Name] {
			begin = append(begin, p.nodes[i].Name)
		}
	}
	if p.events = kept; len(begin) > 0 {
		p.events = append([]event{{0, false, begin}}, kept...)
	}
	for i := range p.traces {
		t := &p.traces[i]
		first, end := int(from/t.gap), int((until+t.gap-1)/t.gap)
		t.data = t.data[min(first, len(t.data)-1):min(end, len(t.data))]
	}
	p.until = until - from
}
