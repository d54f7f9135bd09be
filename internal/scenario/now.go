package scenario

import (
	"errors"
	"fmt"
	"strings"
)

// CheckNow checks an event that happens at once in a cluster with this inventory. It returns all faults, joined. It ignores
// At.
func (e *Event) CheckNow(inventory Inventory) error {
	actions := e.Actions()
	if len(actions) != 1 {
		return fmt.Errorf("%d actions (%s), not exactly one", len(actions), strings.Join(actions, ", "))
	}
	var faults, own faults
	newWorld(&Scenario{}, inventory, &faults).act(&own, &Planned{Event: e})
	for _, err := range own {
		faults.add("%s: %w", actions[0], err)
	}
	return errors.Join(faults...)
}
