package simulation

import (
	"fmt"
	"strings"
)

// action returns the name of the event's action.
func (e *Event) action() (string, error) {
	actions := e.Actions()
	if len(actions) != 1 {
		return "", fmt.Errorf("%d actions (%s), not exactly one", len(actions), strings.Join(actions, ", "))
	}
	return actions[0], nil
}

// check reports the faults of an event by itself.
func (e *Event) check(f faults) {
	a := e.does()
	if a.nodes != nil {
		a.nodes.check(f)
	}
	if a.check != nil {
		a.check(f)
	}
}

// checkRepeat reports the faults of a repeat, without those of its events.
func (e *Event) checkRepeat(f faults) {
	notNegative(f.in("at"), e.At)
	f = f.in("repeat")
	if e.Repeat.Every <= 0 {
		f.in("every").add("%v is not positive", e.Repeat.Every)
	}
	notNegative(f.in("times"), e.Repeat.Times)
	if len(e.Repeat.Events) == 0 {
		f.missing("events")
	}
}
