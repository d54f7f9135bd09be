package faults

const (
	zones     = "zone"
	health    = "health"
	taints    = "taints"
	queue     = "ratelimitqueue"
	lifecycle = "evictor/nodelifecycle"
	evictions = "evictor/tainteviction"
	memory    = "evictor/internal/seen"
)

// when changes a condition.
func when(in, function, was, is string) Change {
	return Change{In: in, Function: function, Was: was, Is: is}
}

// value changes a value.
func value(in, function, was, is string) Change {
	return Change{In: in, Function: function, Was: was, Is: is, Value: true}
}

func one(name string, c Change) Fault { return Fault{Name: name, Changes: []Change{c}} }

// deadline changes when a pod has to leave.
func deadline(name, body string) Fault {
	const was = "taints.DeadlineOf(p.node.taints, p.bound, object.Spec.Tolerations, counts, e.cfg.NumericTolerations)"
	return one(name, value(evictions, "engine.deadline", was, "func(d taints.Deadline) taints.Deadline { "+body+"; return d }($)"))
}

// ruling changes what the policy makes of a zone.
func ruling(name, was, is string) Fault {
	return one(name, value(zones, "DisruptionPolicy.Decide", was, is))
}

// diff changes what a write does to a node's taints.
func diff(name, body string) Fault {
	const was = "taints.Diff(have, want, func(t *v1.Taint) bool { return taints.OwnNoSchedule(t) || taints.OwnNoExecute(t) })"
	return one(name, value(lifecycle, "engine.planWrites", was, "func(c taints.Change) taints.Change { "+body+"; return c }($)"))
}

// standing changes one condition of whether a node may be harmed.
func standing(name, was, is string) Fault {
	return one(name, when(lifecycle, "engine.standing", was, is))
}

const (
	full    = "Ruling{State: FullDisruption, Rate: p.EvictionRate}"
	usual   = "Ruling{State: Normal, Rate: p.EvictionRate}"
	partial = "Ruling{State: PartialDisruption, Rate: p.SecondaryEvictionRate}"
	small   = "Ruling{State: PartialDisruption}"
	settles = "m.instant(steady.Add(at+m.strict, time.Duration(e.group.grace)))"
	marks   = "n.verdict.Ready == v1.ConditionUnknown && n.says == v1.ConditionUnknown"
	waiting = "ratelimitqueue.Entry[turnKey, struct{}]{Key: n.turnKey(false), OnDuplicate: ratelimitqueue.KeepFirst}"
	timeout = "since.Add(e.cfg.PodEvictionTimeout)"
)

// All are the deliberate faults.
var All = []Fault{
	deadline("evictions 0.2 s late", "d.At = d.At.Add(200 * time.Millisecond)"),
	deadline("evictions 1 s early", "d.At = d.At.Add(-time.Second)"),
	deadline("evictions 5 s early", "d.At = d.At.Add(-5 * time.Second)"),
	deadline("evictions 5 s late", "d.At = d.At.Add(5 * time.Second)"),
	deadline("evictions 60 s late", "d.At = d.At.Add(time.Minute)"),
	deadline("half of each toleration", "d.At = d.At.Add(-d.For / 2)"),
	deadline("unreachable: 5 s early", "if d.Taint != nil && d.Taint.Key == v1.TaintNodeUnreachable { d.At = d.At.Add(-5 * time.Second) }"),
	deadline("not-ready: 60 s late", "if d.Taint != nil && d.Taint.Key == v1.TaintNodeNotReady { d.At = d.At.Add(time.Minute) }"),
	deadline("foreign taints: 60 s late", "if d.Taint != nil && !taints.OwnNoExecute(d.Taint) { d.At = d.At.Add(time.Minute) }"),
	deadline("foreign taints evict nobody", "if d.Taint != nil && !taints.OwnNoExecute(d.Taint) { d = taints.Deadline{Forever: true, Toleration: -1} }"),

	one("no wait after a start for our own taints", when(evictions, "engine.holdsBack", "ours && own.Wait > 0", "false")),
	one("the overdue do not wait for their node", when(evictions, "engine.holdsBack", "ours && p.overdue && own.Overdue", "false")),
	one("a deadline does not move", when(evictions, "engine.decideOn", "!p.same(why, e.mu.Now)", "false")),
	one("a deadline does not move forward", when(evictions, "engine.decideOn", "!p.same(why, e.mu.Now)", "$ && why.At.After(p.why.At)")),
	one("a deadline does not move back", when(evictions, "engine.decideOn", "!p.same(why, e.mu.Now)", "$ && why.At.Before(p.why.At)")),
	one("nothing is cancelled while there are taints", when(evictions, "engine.decideOn", "why.Forever", "$ && len(p.node.taints) == 0")),
	one("a failed eviction is not tried again", when(evictions, "eviction.Tried", "err == nil || apierrors.IsNotFound(err)", "true")),
	one("pods count from the taint", value(evictions, "engine.meet", "&pod{ref: cluster.RefOf(object), node: n, bound: e.mu.Now}", "&pod{ref: cluster.RefOf(object), node: n}")),
	one("pods are bound when the process starts", when(evictions, "engine.meet", "!e.started", "false")),
	one("taints begin when the process starts", when(evictions, "engine.note", "e.started", "true")),
	{"completed and mirror pods are evicted", []Change{
		when(evictions, "engine.decideOn", `seen.Spared(object) != ""`, "false"),
		value(evictions, "engine.check", "seen.Spared(object)", `""`),
	}},

	one("a taint that came back keeps its start", when(memory, "Taints.Observe", "!t.TimeAdded.Equal(before.Taint.TimeAdded) && plausible.After(before.Start)", "false")),
	{"a swap begins anew", []Change{
		when(memory, "Taints.before", "taints.OwnNoExecute(t)", "false"),
		when(taints, "Change.Apply", "OwnNoExecute(&t) && outage != nil", "false"),
	}},
	one("a swap counts from its outage", value(taints, "endsBy", "later(begun.Start, bound)", "later(func() time.Time { if begun.Outage.IsZero() { return begun.Start }; return begun.Outage }(), bound)")),
	one("a swap forgets its outage", when(taints, "endsBy", "!forever && at.Before(ends.At)", "false")),

	one("for ever is at once", when(taints, "lastsFor", "true", "false")),
	one("half a second a second", value(taints, "lastsFor", "time.Duration(*s) * time.Second", "$ / 2")),
	one("a toleration without a key counts for nothing", when(taints, "matches", "true", `toleration.Key != ""`)),
	one("a value counts for nothing", when(taints, "matches", "toleration.Value == taint.Value", "true")),
	one("effects are confused", when(taints, "using", `(t.Effect == "" || t.Effect == taint.Effect)`, "true")),
	one("another toleration counts", value(taints, "using", "&tolerations[i]", "&tolerations[len(tolerations)-1-i]")),
	{"not-ready and unreachable are tolerated alike", []Change{
		when(taints, "keyMayMatch", "n == 0 || n == len(taint.Key) && toleration.Key[n-1] == taint.Key[n-1]", "$ || OwnNoExecute(taint)"),
		when(taints, "matches", `toleration.Key != "" && toleration.Key != taint.Key`, `$ && !(OwnNoExecute(taint) && (toleration.Key == "node.kubernetes.io/not-ready" || toleration.Key == "node.kubernetes.io/unreachable"))`),
	}},
	one("no NoSchedule for PIDPressure", when(taints, "ForConditions", "conditions[i].Type == rule.condition && conditions[i].Status == rule.status", "$ && rule.condition != v1.NodePIDPressure")),
	one("no NoSchedule for MemoryPressure", when(taints, "ForConditions", "conditions[i].Type == rule.condition && conditions[i].Status == rule.status", "$ && rule.condition != v1.NodeMemoryPressure")),
	one("no NoSchedule for unreachable", when(taints, "ForConditions", "conditions[i].Type == rule.condition && conditions[i].Status == rule.status", "$ && rule.key != v1.TaintNodeUnreachable")),
	one("no NoSchedule for cordoned", when(taints, "ForConditions", "unschedulable", "false")),
	one("unreachable nodes get not-ready", value(taints, "ForReady", "v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}", "v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}")),

	ruling("rate 10 % too high", usual, "Ruling{State: Normal, Rate: 1.1 * p.EvictionRate}"),
	ruling("rate doubled", usual, "Ruling{State: Normal, Rate: 2 * p.EvictionRate}"),
	ruling("rate a fifth", usual, "Ruling{State: Normal, Rate: p.EvictionRate / 5}"),
	ruling("full: secondary rate", full, "Ruling{State: FullDisruption, Rate: p.SecondaryEvictionRate}"),
	ruling("full: stopped", full, "Ruling{State: FullDisruption}"),
	ruling("full: rate doubled", full, "Ruling{State: FullDisruption, Rate: 2 * p.EvictionRate}"),
	ruling("partial: rate doubled", partial, "Ruling{State: PartialDisruption, Rate: 2 * p.SecondaryEvictionRate}"),
	ruling("partial: primary rate", partial, "Ruling{State: PartialDisruption, Rate: p.EvictionRate}"),
	ruling("partial: stopped", partial, "Ruling{State: PartialDisruption}"),
	ruling("small and partial: secondary rate", small, partial),
	ruling("small and partial: primary rate", small, "Ruling{State: PartialDisruption, Rate: p.EvictionRate}"),
	one("a zone of the threshold's size is large", when(zones, "DisruptionPolicy.Decide", "c.Total > p.LargeZoneThreshold", "c.Total >= p.LargeZoneThreshold")),
	one("three bad nodes are few", when(zones, "DisruptionPolicy.Decide", "c.Bad <= 2", "c.Bad <= 3")),
	one("two bad nodes are many", when(zones, "DisruptionPolicy.Decide", "c.Bad <= 2", "c.Bad <= 1")),
	one("the threshold itself is no disruption", when(zones, "DisruptionPolicy.Decide", "float32(c.Bad)/float32(c.Total) < float32(p.UnhealthyThreshold)", "float32(c.Bad)/float32(c.Total) <= float32(p.UnhealthyThreshold)")),
	one("every zone is never down", value(zones, "Tracker.commit", "down(t.asked)", "false")),
	one("every zone is down when one is", when(zones, "down", "d.ruling.State != FullDisruption", "$ && !some")),

	one("a token is lost when the rate changes", when(queue, "bucket.setRate", "b.has(whole + 1)", "false")),
	one("a token is won when the rate changes", value(queue, "bucket.setRate", "math.Floor(max(b.tokens, 0))", "b.burst")),
	one("what accrues is doubled", value(queue, "bucket.note", "float64(b.limit)", "2 * $")),

	one("silence is found 1 s late", value(health, "Monitor.pass", "m.beats.now - m.strict", "m.beats.now - m.strict - 1e9")),
	one("silence is found 5 s late", value(health, "Monitor.pass", "m.beats.now - m.strict", "m.beats.now - m.strict - 5e9")),
	one("silence is found 1 s early", value(health, "Monitor.pass", "m.beats.now - m.strict", "m.beats.now - m.strict + 1e9")),
	one("no grace at a start-up", when(health, "Monitor.graceFor", "status == readyMissing", "false")),
	one("the grace after a start is doubled", value(health, "Monitor.settles", settles, "m.instant(steady.Add(at+m.strict, 2*time.Duration(e.group.grace)))")),
	one("no grace after a start", value(health, "Monitor.settles", settles, "m.instant(at)")),
	one("who says so settles after a grace", when(health, "Monitor.settles", "n.spoke && n.observed == readyFalse", "false")),
	one("status reports are no signs of life", when(health, "Monitor.observe", "reports && alive", "false")),
	one("an old status report is a sign of life", when(health, "Monitor.observe", "reports && alive", "reports")),
	one("a lease that was read does not count", when(lifecycle, "Controller.LeaseRead", "err == nil && !renewTime.IsZero()", "false")),

	standing("every zone is down, and nothing stops", "e.zones.AllDown()", "false"),
	standing("taints are lifted a pass late", "n.verdict.Ready == v1.ConditionTrue", "$ && !(n.tainted && e.mu.Now.Sub(n.verdict.Since) < e.cfg.NodeMonitorPeriod)"),
	standing("taints are lifted 60 s late", "n.verdict.Ready == v1.ConditionTrue", "$ && !(n.tainted && e.mu.Now.Sub(n.verdict.Since) < 60e9)"),
	standing("nodes are tainted a pass late", "n.early", "$ || !n.tainted && e.mu.Now.Sub(n.verdict.Since) < e.cfg.NodeMonitorPeriod"),
	standing("nodes are tainted 10 s late", "n.early", "$ || !n.tainted && e.mu.Now.Sub(n.verdict.Since) < 10e9"),
	standing("not-ready nodes are not tainted", "n.early", "$ || n.verdict.Ready == v1.ConditionFalse"),
	standing("unreachable nodes are not tainted", "n.early", "$ || n.verdict.Ready == v1.ConditionUnknown"),
	standing("who has failed before a start is not watched", "n.early", "false"),
	standing("nobody settles", "!e.settled(n)", "true"),
	standing("all have settled", "!e.settled(n)", "false"),
	standing("a report of Ready stops nothing", "n.reported()", "false"),
	one("after every zone was down no node is watched", when(lifecycle, "engine.restarted", "n.failed()", "false")),
	one("a turn is taken by whom it does not help", when(lifecycle, "Controller.granted", "s != harmable", "false")),
	one("excluded nodes count", when(lifecycle, "engine.pass", "n.excluded", "false")),
	one("a failed taint costs no token", when(lifecycle, "writing.wroteInTurn", "w.taint == environment.NotSent || w.taint == environment.Conflict", "true")),
	one("a failed taint is given up", when(lifecycle, "writing.wroteInTurn", "w.carries(n)", "true")),
	one("a node waits 10 s for its turn", value(lifecycle, "engine.enqueue", waiting, "ratelimitqueue.Entry[turnKey, struct{}]{Key: n.turnKey(false), Due: e.mu.Now.Add(10e9), OnDuplicate: ratelimitqueue.KeepFirst}")),
	one("conditions are not written", when(lifecycle, "engine.planWrites", "!lift && n.status != upToDate && n.unread == nil", "false")),
	one("NoSchedule is lifted first", when(lifecycle, "keepUnready", "len(those(want, unready)) > 0", "true")),
	diff("a swap leaves both taints", "if len(c.Add) > 0 { c.Remove = those(c.Remove, func(t *v1.Taint) bool { return !taints.OwnNoExecute(t) }) }"),
	diff("a swap leaves the first taint", "if len(c.Remove) > 0 && len(those(c.Add, taints.OwnNoExecute)) > 0 { c = taints.Change{} }"),
	diff("a swap leaves no taint", "if len(c.Remove) > 0 { c.Add = those(c.Add, func(t *v1.Taint) bool { return !taints.OwnNoExecute(t) }) }"),
	diff("taints stay", "c.Remove = nil"),

	one("a pod is taken for the one that had its name", when(evictions, "engine.shown", "known != nil && !known.ref.Shows(object)", "$ && object == nil")),
	one("a machine is taken for the one that had its name", when(evictions, "engine.syncNode", "n != nil && (!ok || object == nil || object.UID != n.uid)", "n != nil && (!ok || object == nil)")),
	one("a machine keeps the silence of the one that had its name", when(health, "Monitor.observe", "differ(n.uid, string(node.UID))", "false")),

	one("pods are never marked", when(lifecycle, "engine.markPods", "e.marksNow(n)", "false")),
	one("pods are marked while every zone is down", when(lifecycle, "engine.marksNow", "!e.zones.AllDown()", "true")),
	one("pods of NotReady nodes are marked", when(lifecycle, "engine.marksNow", marks, "n.failed() && n.says == n.verdict.Ready")),
	one("pods are marked at once after a start", when(lifecycle, "engine.marksNow", "e.settled(n)", "true")),
	one("one pod of a node is not marked", when(lifecycle, "engine.markPod", "n.sees(pod)", `$ && pod.Name != n.name+"-p0"`)),
	{"pods are marked again and again", []Change{
		when(lifecycle, "engine.markPod", "!n.pods[pod.UID].marked", "true"),
		when(lifecycle, "Controller.markable", "n.pods[ref.UID].marked", "false"),
	}},

	one("without taints: 10 s early", value(lifecycle, "engine.emptyAt", timeout, "since.Add(e.cfg.PodEvictionTimeout - 10e9)")),
	one("without taints: 60 s late", value(lifecycle, "engine.emptyAt", timeout, "since.Add(e.cfg.PodEvictionTimeout + 60e9)")),
	one("without taints: half of the timeout", value(lifecycle, "engine.emptyAt", timeout, "since.Add(e.cfg.PodEvictionTimeout / 2)")),
	one("without taints: pods of DaemonSets go", when(lifecycle, "spared", `owner != nil && owner.Kind == "DaemonSet"`, "false")),
	one("without taints: what comes later stays", when(lifecycle, "engine.emptyPod", `why == ""`, "$ && turn")),
}
