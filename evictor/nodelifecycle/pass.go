package nodelifecycle

import (
	"context"
	"maps"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/zone"
)

// half is the controller as a loop drives it.
type half struct{ *Controller }

func (h half) Report(what string, failed error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kind := Awaiting
	if failed != nil {
		kind = FunctionFailed
	}
	h.decide(Decision{Kind: kind, Reason: what, Err: failed})
}

// Plan notes what has changed, makes a monitor pass if one is due, and hands out turns. It schedules writes and makes none.
func (h half) Plan(ctx context.Context, nodes []string, pods []cluster.PodKey) (changed []string) {
	h.ask(ctx)
	h.read(nodes, pods)
	h.around.Out.Deliver() // a Gate that observes knows every verdict when it is asked about a turn, but for those that a worker is telling
	h.hand(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	changed, h.changed = h.changed, nil
	return changed
}

func (h half) read(nodes []string, pods []cluster.PodKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count()
	absent := h.absent()
	for _, name := range nodes {
		h.syncNode(name)
	}
	for _, key := range pods {
		h.syncPod(key)
	}
	for name, lease := range h.around.Inbox.Leases() {
		if _, judged := h.monitor.Verdict(name); !judged { // it may have been unknown when its lease was seen
			h.monitor.ObserveLease(name, lease.RenewTime, lease.ResourceVersion)
		}
	}
	exact := h.cfg.NodeMonitorPeriod == 0 && (len(h.attention) > 0 || h.left || h.mu.Due(h.zones.Next(h.mu.Now)))
	if exact || absent > 0 || h.around.Read().Due(h.monitor.Next()) || !h.started {
		h.pass()
		h.decide(Decision{Kind: Passed, Took: max(0, h.around.Since(h.mu.Now)), Absent: absent})
	}
	h.started = true
}

// Blind freezes verdicts while the evictor cannot see the cluster.
func (h half) Blind(blind bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if blind {
		h.monitor.Freeze()
	} else {
		h.monitor.Thaw()
		h.restarted()
		for _, n := range h.nodes {
			if h.reads && n.failed() && n.verdict.Expired && n.unread == nil { // its renewals may be what we did not see
				h.unknown(n, errAsked)
			}
		}
	}
	h.count()
	h.blind = blind
}

// Retry tries again what has failed, and asks for turns anew.
func (h half) Retry() {
	h.mu.Lock()
	defer h.mu.Unlock()
	environment.RetryNow(h.lifts, h.mu.Now)
	environment.RetryNow(h.writes, h.mu.Now)
	environment.RetryNow(h.marks, h.mu.Now)
	environment.RetryNow(h.deletes, h.mu.Now)
	for _, n := range h.nodes {
		h.tryPods(n, true)
		h.askTurn(n, true)
	}
}

// Next is when Plan has something to do without any change.
func (h half) Next() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	var soon environment.Soonest
	if !h.mute && h.free() {
		soon.Or(h.turns.Next())
	}
	soon.Or(h.monitor.Next())
	if h.cfg.NodeMonitorPeriod == 0 {
		soon.Or(h.zones.Next(h.mu.Now))
		soon.Or(h.attendAt())
	}
	return soon.Time
}

// pass is one monitor pass: verdicts, then zones and rates, then what follows for the nodes that need attention.
func (e *engine) pass() {
	if !e.started {
		e.begun = e.mu.Now
	}
	verdicts := e.monitor.Pass()
	e.mu.Reading = e.around.Read() // the verdicts are as of a later reading
	for _, v := range verdicts {
		if n := e.nodes[v.Node]; n != nil && v.UID == n.uid {
			e.judge(n, v)
		}
	}
	for _, n := range e.attention {
		if !n.judged() {
			continue
		}
		if n.domain != n.belongs {
			e.move(n)
			e.askTurn(n, true) // its new domain may have other gates
			e.tryNow(n)
			e.around.Inbox.Node(n.name)
		}
		// A verdict counts in its zone, whether or not its write succeeds.
		e.zones.Set(n.name, n.domain, zone.Member{Ready: !n.failed(), Excluded: n.excluded, Identity: string(n.uid)})
	}
	e.evaluateZones()
	e.left = false // not before: if the policy panics, the next Step asks it again
	left := e.attention
	e.attention = make(map[string]*node)
	defer func() { maps.Copy(e.attention, left) }() // if the user's code panics, keep the rest for the next pass
	for _, name := range sortedKeys(left) {
		if n := e.nodes[name]; n != nil && n.judged() {
			e.consider(n)
		}
		delete(left, name)
	}
}

// judge records a new verdict.
func (e *engine) judge(n *node, v health.Verdict) {
	first := !n.judged()
	silent := v.Expired && !n.verdict.Expired
	n.verdict, n.heard = v, false
	switch {
	case !v.Expired:
		n.status = upToDate
	case n.status == upToDate:
		n.status = toWrite
	}
	if silent && e.reads && n.unread == nil && n.read.Before(v.LastBeat) { // who reads is late
		e.unknown(n, errAsked)
	}
	if first { // it may have failed before we watched
		n.announced, n.early = v.Observed, n.failed() && !n.seen.After(e.begun)
	}
	if v.Ready == v1.ConditionTrue {
		n.early, n.emptying = false, emptying{begun: n.begun} // what its turn has done stays done
		e.dequeue(n, standings[ready])
		e.notOverdue(n)
	}
	if v.Ready != v1.ConditionUnknown {
		n.pods = nil
	}
	if silent && !e.reads && !e.unheard {
		e.unheard = true
		e.decide(Decision{Kind: LeasesUnread, Node: n.name, NodeUID: n.uid, Zone: n.domain})
	}
	e.announce(n)
	e.attention[n.name] = n
}

// announce reports a verdict that has changed; that of a silent node once its lease was read, and says what it says.
func (e *engine) announce(n *node) {
	v := n.verdict
	now, _ := e.monitor.Verdict(n.name)
	if n.announced == v.Ready || v.Expired && (n.unread != nil || !now.Expired) {
		return
	}
	d := Decision{Kind: NodeVerdict, Node: n.name, NodeUID: n.uid, Zone: n.domain, From: n.announced, To: v.Ready, Grace: v.Grace}
	if v.Expired {
		d.Silence = e.mu.Now.Sub(v.LastBeat)
	}
	n.announced = v.Ready
	e.decide(d)
}

// evaluateZones sets the zones' rates, and enters or leaves the state in which every zone is down.
func (e *engine) evaluateZones() {
	down := e.zones.AllDown()
	for _, c := range e.zones.Evaluate(e.mu.Now) {
		if c.Gone {
			e.turns.ForgetDomain(c.Zone) // and its pause
			delete(e.closed, c.Zone)
			continue
		}
		_ = e.turns.SetRate(c.Zone, rate.Limit(c.Rate))
		e.decide(Decision{Kind: ZoneChanged, Zone: c.Zone, FromState: c.From, State: c.State, Rate: c.Rate, Counts: c.Counts})
	}
	switch is := e.zones.AllDown(); {
	case is && !down:
		e.decide(Decision{Kind: AllZonesDown})
		for _, n := range e.nodes {
			if n.failed() {
				n.emptied = false // it waits for another turn
				e.attention[n.name] = n
			}
		}
	case down && !is:
		e.decide(Decision{Kind: AllZonesDownEnded})
		e.monitor.Restart()
		e.restarted()
	}
}

// restarted makes every failed node wait one more grace period before it is harmed and its pods are marked.
func (e *engine) restarted() {
	e.begun = e.mu.Now
	for _, name := range sortedKeys(e.nodes) {
		if n := e.nodes[name]; n.failed() {
			n.early, e.attention[name] = true, n
			e.dequeue(n, standings[settling])
			e.turns.Remove(n.turnKey(true)) // overdue pods stay overdue until they may leave
		}
	}
}

// consider decides what the node's verdict asks for now: whether it waits in the queue, and what is written or lifted.
func (e *engine) consider(n *node) {
	object := e.current(n)
	if n.early && !e.zones.AllDown() {
		if n.early = !e.settled(n); n.early {
			e.attention[n.name] = n
		}
	}
	// Without a period each Step is a pass: what was written and is not shown yet would be written again in the same instant.
	lags := e.cfg.NodeMonitorPeriod == 0 && object != nil && n.wroteTo != "" && object.ResourceVersion == n.wroteTo
	if n.verdict.Expired && !n.heard && n.says != v1.ConditionUnknown && n.status == upToDate && !lags {
		n.status = toWrite
	}
	switch s := e.standing(n); {
	case s == served && n.lapsed:
		e.empty(n)
	case s == unwritable: // it keeps its place, until its conditions are written
	case s != harmable:
		e.dequeue(n, e.why(n))
		if s == settling {
			e.attention[n.name] = n
		}
	case n.turn != nil:
	case object != nil || !e.cfg.TaintBasedEviction:
		e.enqueue(n)
	}
	e.release(n)
	e.follows(n, object)
}

// attendAt is when exact mode must consider again the nodes that wait for time to pass.
func (e *engine) attendAt() (time.Time, bool) {
	var soon environment.Soonest
	for _, n := range e.attention {
		unsettled := n.early || n.failed() && !e.settled(n)
		switch v, ok := e.monitor.Verdict(n.name); {
		case e.blind: // verdicts are frozen
		case unsettled && !v.Settles.IsZero():
			soon.Or(v.Settles, true)
		case unsettled:
			soon.Or(v.LastBeat.Add(v.Grace), ok)
		case n.unshown != nil:
			soon.Or(e.mu.Now.Add(min(e.gap(), n.unshown.until-e.heard())), n.unshown.until > 0)
		case !e.cfg.TaintBasedEviction && e.mu.Now.Before(e.emptyAt(n)):
			soon.Or(e.emptyAt(n), true)
		default:
			soon.Or(e.mu.Now, true)
		}
	}
	return soon.Time, !soon.IsZero()
}
