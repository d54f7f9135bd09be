package differential

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// open opens a window. It ends once the zone has been quiet for so long that its bucket is full again on both sides.
func (e *explainer) open(zone string, at time.Duration, r Rule) {
	key := zoneAt{zone, at}
	quiet, known := e.quiet[key]
	if !known {
		quiet = e.quietAfter(zone, at)
		e.quiet[key] = quiet
	}
	e.openUntil(zone, at, quiet, r)
}

// openUntil opens a window that a quiet zone does not close.
func (e *explainer) openUntil(zone string, from, to time.Duration, r Rule) {
	w := window{span{from, to}, r}
	if e.opened[zone][w] {
		return // a second one would explain nothing more
	}
	if e.opened[zone] == nil {
		e.opened[zone] = map[window]bool{}
	}
	e.opened[zone][w] = true
	e.windows[zone] = append(e.windows[zone], w)
}

// restarted returns when the process that runs at that instant ends.
func (e *explainer) restarted(at time.Duration) time.Duration {
	for _, t := range e.restarts {
		if t > at {
			return t
		}
	}
	return forever
}

// quietAfter returns when the zone has been quiet for a while: all its nodes alive, untainted and not Unknown on both
// sides, and the API up. The empty name stands for all zones.
func (e *explainer) quietAfter(zone string, at time.Duration) time.Duration {
	if e.unrest == nil {
		e.unrest = e.restless()
	}
	calm := max(2*e.settings.NodeMonitorPeriod, time.Minute)
	for _, r := range []float64{e.settings.NodeEvictionRate, e.settings.SecondaryNodeEvictionRate} {
		if r > 0 {
			calm = max(calm, time.Duration(float64(time.Second)/r)+e.settings.NodeMonitorPeriod)
		}
	}
	end := at
	for _, s := range e.unrest[zone] {
		if s.from > end+calm {
			break
		}
		end = max(end, s.to)
	}
	if end > e.settings.Until {
		return forever
	}
	return end + calm
}

// restless collects the spans in which zones are not quiet, in the order of their starts.
func (e *explainer) restless() map[string][]span {
	unrest := map[string][]span{}
	add := func(zone string, s span) {
		unrest[zone] = append(unrest[zone], s)
		unrest[""] = append(unrest[""], s)
	}
	for node, moments := range e.health {
		for i, m := range moments {
			to := forever
			if i+1 < len(moments) {
				to = moments[i+1].at
			}
			if m.failing {
				add(e.zoneOf[node], span{m.at, to})
			}
		}
	}
	for _, lines := range [][]timeline.Line{e.Ours, e.Upstream} {
		since := map[string]time.Duration{}
		for _, l := range lines {
			if l.Kind == timeline.KindCondition && l.Type == string(v1.NodeReady) && l.Status == string(v1.ConditionUnknown) {
				add(e.zoneOf[l.Node], span{l.T, l.T + e.settings.StatusInterval + slack}) // until its kubelet reports anew
			}
			if l.Kind != timeline.KindTaint || !ownNoExecute(l) {
				continue
			}
			if from, carried := since[l.Node]; carried && l.Op == timeline.OpRemove {
				add(e.zoneOf[l.Node], span{from, l.T})
				delete(since, l.Node)
			} else if !carried && l.Op == timeline.OpAdd {
				since[l.Node] = l.T
			}
		}
		for node, from := range since {
			add(e.zoneOf[node], span{from, forever})
		}
	}
	for _, zone := range e.allZones() {
		for _, s := range e.outages {
			unrest[zone] = append(unrest[zone], s.span)
		}
		for _, s := range e.stale {
			unrest[zone] = append(unrest[zone], s.span)
		}
	}
	for _, spans := range unrest {
		slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	}
	return unrest
}

// openAll opens a window for every zone and for the cluster.
func (e *explainer) openAll(at time.Duration, r Rule) {
	for _, zone := range e.allZones() {
		e.open(zone, at, r)
	}
}

func (e *explainer) allZones() []string {
	zones := map[string]bool{"": true}
	for _, zone := range e.zoneOf {
		zones[zone] = true
	}
	return slices.Collect(maps.Keys(zones))
}
