package budget

import (
	"slices"
	"strings"
	"time"
)

// modelTry is an action, or a reservation, that a trial counts in a group.
type modelTry struct {
	in, key string // in: its bound and group
	at      time.Duration
	held    bool
}

// modelEvent is what a group of a trial has seen: an action began, or came to an end with an outcome, 0 if another took its
// place.
type modelEvent struct {
	at      time.Duration
	began   bool
	outcome Outcome
}

// modelTrials remember all that ever happened.
type modelTrials struct {
	tries  []modelTry
	events map[string][]modelEvent // by bound and group
}

// ended takes an action out and notes what came of it.
func (m *model) ended(i int, at time.Duration, outcome Outcome) {
	in := m.tries[i].in
	m.tries = slices.Delete(m.tries, i, i+1)
	m.events[in] = append(m.events[in], modelEvent{at, false, outcome})
}

// overdue gives actions that nobody has judged in time their outcome, the oldest first.
func (m *model) overdue() {
	for i := range m.bounds {
		b := &m.bounds[i]
		for b.Of == Unproven {
			first := -1
			for i, is := range m.tries {
				if boundOf(is.in) == b.Name && !is.held && is.at+b.Within <= m.now && (first < 0 || is.at < m.tries[first].at) {
					first = i
				}
			}
			if first < 0 {
				break
			}
			m.ended(first, m.tries[first].at+b.Within, b.Unjudged)
		}
	}
}

// tryOf returns the index of the action or reservation of a member, -1 if there is none.
func (m *model) tryOf(bound, key string, held bool) int {
	return slices.IndexFunc(m.tries, func(is modelTry) bool { return boundOf(is.in) == bound && is.key == key && is.held == held })
}

// hold counts a reservation of the member, if it is in a group.
func (m *model) hold(b *Bound, key string, th thing) {
	if group, ok := m.groupOf(b.Per, th); ok && b.Of == Unproven {
		m.tries = append(m.tries, modelTry{in: b.Name + "/" + group, key: key, held: true})
	}
}

// unhold forgets the reservations of a member.
func (m *model) unhold(b *Bound, key string) {
	if i := m.tryOf(b.Name, key, true); i >= 0 {
		m.tries = slices.Delete(m.tries, i, i+1)
	}
}

// begun says that an action on the member begins.
func (m *model) begun(key string) {
	for i := range m.bounds {
		b := &m.bounds[i]
		m.unhold(b, key)
		if i := m.tryOf(b.Name, key, false); i >= 0 {
			m.ended(i, m.now, 0)
		}
		if group, ok := m.groupOf(b.Per, m.things[key]); ok && b.Of == Unproven {
			in := b.Name + "/" + group
			m.tries = append(m.tries, modelTry{in: in, key: key, at: m.now})
			m.events[in] = append(m.events[in], modelEvent{m.now, true, 0})
		}
	}
}

// judge notes an outcome.
func (m *model) judge(key string, is Outcome) (open bool) {
	for i := range m.bounds {
		if i := m.tryOf(m.bounds[i].Name, key, false); i >= 0 {
			m.ended(i, m.now, is)
			open = true
		}
	}
	return open
}

// unproven counts members, the candidate included.
func (m *model) unproven(b *Bound, group, candidate string) int64 {
	keys := map[string]bool{candidate: true}
	for _, is := range m.tries {
		if is.in == b.Name+"/"+group {
			keys[is.key] = true
		}
	}
	delete(keys, "")
	return int64(len(keys))
}

// firstOverdue is when the first action will be judged by time.
func (m *model) firstOverdue(b *Bound, group string) (first time.Duration, some bool) {
	for _, is := range m.tries {
		if end := is.at + b.Within; is.in == b.Name+"/"+group && !is.held && (!some || end < first) {
			first, some = end, true
		}
	}
	return first, some
}

// trialOf plays anew what the group has seen: how many may be unproven, how many failures count, and until when it cools
// down.
func (m *model) trialOf(b *Bound, group string) (width int64, failures int, cools time.Duration) {
	width = 1
	open, idle := 0, time.Duration(0)
	for _, e := range append(slices.Clone(m.events[b.Name+"/"+group]), modelEvent{at: m.now}) {
		if open == 0 && e.at-idle >= b.Quiet {
			width = 1
		}
		if e.at-cools >= b.Quiet {
			failures = 0
		}
		switch {
		case e.began:
			open++
			continue
		case e.outcome == Proved:
			width++
		case e.outcome == Failed:
			pause := b.Cooldown
			for range failures {
				pause = max(b.Cooldown, min(2*pause, b.MaxCooldown))
			}
			width, failures, cools = 1, failures+1, e.at+pause
		}
		if open--; open == 0 {
			idle = e.at
		}
	}
	return width, failures, cools
}

func boundOf(in string) string {
	name, _, _ := strings.Cut(in, "/")
	return name
}
