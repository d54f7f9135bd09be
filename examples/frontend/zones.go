package frontend

import (
	"strings"

	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/zone"
)

// logged turns what a controller logs about zones, and reports nowhere else, into decisions. They have no counts and no
// rate.
func (s *Server) logged(from *session, text string) {
	switch {
	case strings.Contains(text, "Entering master disruption mode"):
		s.note(from, nodelifecycle.Decision{Kind: nodelifecycle.AllZonesDown})
	case strings.Contains(text, "Exiting master disruption mode"):
		s.note(from, nodelifecycle.Decision{Kind: nodelifecycle.AllZonesDownEnded})
	case strings.Contains(text, "Controller detected that zone"):
		s.note(from, nodelifecycle.Decision{Kind: nodelifecycle.ZoneChanged, Zone: zoneIn(text), State: stateIn(text)})
	}
}

// zoneIn finds the key region:\x00:zone, quoted or not.
func zoneIn(text string) zone.Key {
	if _, value, structured := strings.Cut(text, `"zone"="`); structured {
		text, _, _ = strings.Cut(value, `"`)
	} else {
		_, text, _ = strings.Cut(text, "that zone ")
		text, _, _ = strings.Cut(text, " is now in")
	}
	for _, separator := range []string{":\x00:", `:\x00:`, `:\u0000:`} {
		if region, name, ok := strings.Cut(text, separator); ok {
			return zone.Key{Region: region, Zone: name}
		}
	}
	return zone.Key{}
}

// stateIn returns the zero State if upstream logs none, as it does for a zone that has just become empty.
func stateIn(text string) (s zone.State) {
	for _, state := range []zone.State{zone.PartialDisruption, zone.FullDisruption, zone.Normal} {
		if strings.Contains(text, string(state)) {
			return state
		}
	}
	return s
}
