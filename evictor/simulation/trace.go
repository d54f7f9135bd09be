package simulation

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/evictkit/evictkit/zone"
)

// recording is a Trace that is sound.
type recording struct {
	*Trace
	largest int
}

// maxSample limits samples, so that their products with sizes of zones fit an int64.
const maxSample = math.MaxInt32

// newRecording reports all faults of a trace by itself; then it returns nil.
func newRecording(f faults, t *Trace) *recording {
	before := len(*f.found)
	if t.Gap <= 0 || t.Gap%time.Second != 0 {
		f.in("gap").add("%v is not a positive number of whole seconds", t.Gap)
	}
	if len(t.Alive) == 0 {
		f.in("alive").add("there are no values")
	}
	outside := func(sample int) bool { return sample < 0 || sample > maxSample }
	if i := slices.IndexFunc(t.Alive, outside); i >= 0 { // only the first, because a bad file often has thousands
		f.in("alive").add("value %d (from 0) is %d, outside 0…%d", i, t.Alive[i], maxSample)
	}
	if t.Scale < 0 {
		f.in("scale").add("%d is negative", t.Scale)
	}
	if len(*f.found) > before {
		return nil
	}
	return &recording{t, slices.Max(t.Alive)}
}

// index returns the number of the sample that holds at a time since the start.
func (r *recording) index(at time.Duration) int {
	return int(min(max(at, 0)/r.Gap, time.Duration(len(r.Alive)-1)))
}

// alive returns how many nodes of a zone of that size are alive while a sample with that value holds. With a scale it
// is sample*scale, at most the size. Without it is the sample's share of the trace's largest value:
// sample*size/largest, rounded to the nearest whole node, half up; 0 if the largest value is 0.
func (r *recording) alive(sample, zoneSize int) int {
	if r.Scale > 0 {
		if sample > zoneSize/r.Scale { // sample*scale itself might overflow
			return zoneSize
		}
		return sample * r.Scale
	}
	if r.largest == 0 {
		return 0
	}
	largest := int64(r.largest)
	return int((2*int64(sample)*int64(zoneSize) + largest) / (2 * largest))
}

// zone resolves a reference among the zones that ever had a node.
func (p *player) zone(ref string) (zone.Key, error) {
	var keys []zone.Key
	for _, name := range slices.Sorted(maps.Keys(p.cluster.zones)) {
		region, of, _ := strings.Cut(name, ":")
		keys = append(keys, zone.Key{Region: region, Zone: of})
	}
	return resolveZone(ref, keys)
}

// nodesOf returns the sorted names of a zone's nodes.
func (c *cluster) nodesOf(key zone.Key) []string {
	var names []string
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.Deleted && n.zone == key {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// drivers prepares the traces, and reports their faults. If not all zones could be generated, it does not know which exist.
func (p *player) drivers(f faults, complete bool) {
	for i := range p.scenario.Traces {
		t := &p.scenario.Traces[i]
		f := f.at(fmt.Sprintf("trace %d", i+1), "traces", item(i))
		r := newRecording(f, t)
		key, err := p.zone(t.Zone)
		switch {
		case t.Zone == "":
			f.missing("zone")
		case err != nil && complete:
			f.at("", "zone").add("%w", err)
		case err == nil && slices.ContainsFunc(p.traces, func(d driver) bool { return d.key == key }):
			f.at("", "zone").add("zone %q already has a trace", t.Zone)
		case err == nil:
			names := p.cluster.nodesOf(key)
			p.traces = append(p.traces, driver{number: i + 1, key: key, trace: r, names: names})
			if r != nil && t.Scale > 0 && r.largest > len(names)/t.Scale { // then more nodes are alive than there are
				p.report.Warnings = append(p.report.Warnings, fmt.Sprintf("trace %d: its scale of %d makes more than the %d nodes of zone %q alive; more than all are all", i+1, t.Scale, len(names), t.Zone))
			}
		}
	}
}

// remember looks up the nodes of the traces' zones again, after one was added, deleted or moved. The traces decide
// about them at once.
func (p *player) remember() {
	for i := range p.traces {
		d := &p.traces[i]
		d.names = p.cluster.nodesOf(d.key)
		d.at = p.cluster.Clock.Elapsed()
	}
}

// drive makes as many nodes alive as the current sample says.
func (d *driver) drive(p *player, at time.Duration) {
	if d.at < 0 || d.at > at {
		return
	}
	j := d.trace.index(at)
	sample := d.trace.Alive[j]
	alive := d.trace.alive(sample, len(d.names))
	var failed, back []string
	for i, name := range d.names {
		n := &p.cluster.nodes[p.cluster.nodeByID[name]]
		if lives := i < alive; lives && p.cluster.Recover(n) {
			back = append(back, name)
		} else if !lives && p.cluster.Fail(n) {
			failed = append(failed, name)
		}
	}
	if len(failed)+len(back) > 0 {
		p.tellTrace(d.number, failed, back)
	}
	d.at = -1
	for k := j + 1; k < len(d.trace.Alive) && time.Duration(k) <= never/d.trace.Gap; k++ {
		if d.trace.Alive[k] != sample {
			d.at = time.Duration(k) * d.trace.Gap
			return
		}
	}
}

// driver is a trace that decides which nodes of a zone are live.
type driver struct {
	number int // its number in the file, from 1
	key    zone.Key
	trace  *recording
	names  []string
	at     time.Duration // of the next sample that may differ; negative if there is none
}
