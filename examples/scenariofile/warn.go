package scenariofile

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/maintenance"
)

// Warnings say where the scenario may not say what its author means, and is sound.
func (s *Scenario) Warnings() (warnings []string) {
	announcing := maintenance.Conditions()
	var names []string
	for _, name := range announcing {
		names = append(names, string(name))
	}
	played := s.simulation()
	told := make(map[v1.NodeConditionType]bool)
	for _, e := range played.Plan() {
		if e.Condition == nil || told[e.Condition.Type] {
			continue
		}
		is := e.Condition.Type
		told[is] = true
		switch {
		case slices.Contains(announcing, is):
			if s.Maintenance == 0 {
				warnings = append(warnings, fmt.Sprintf("event %d: %s announces maintenance, which spares no node without maintenance: 1h, for example", e.Number, is))
			}
		case Hint(string(is), slices.Values(names)) != "":
			warnings = append(warnings, fmt.Sprintf("event %d: %s announces no maintenance%s", e.Number, is, Hint(string(is), slices.Values(names))))
		}
	}
	return warnings
}
