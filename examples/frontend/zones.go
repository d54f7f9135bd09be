package frontend

import (
	"strings"

	"github.com/evictkit/evictkit/internal/scenario"
)

// logged makes lines from what a controller logs about zones, which it reports nowhere else. They have no counts and no
// rate.
func (s *Server) logged(from *session, text string) {
	switch {
	case strings.Contains(text, "Entering master disruption mode"):
		s.note(from, scenario.Line{Kind: scenario.KindCluster, State: scenario.AllZonesDisrupted})
	case strings.Contains(text, "Exiting master disruption mode"):
		s.note(from, scenario.Line{Kind: scenario.KindCluster, State: scenario.ClusterNormal})
	case strings.Contains(text, "Controller detected that zone"):
		s.note(from, scenario.Line{Kind: scenario.KindZone, Zone: zoneIn(text), State: stateIn(text)})
	}
}

// zoneIn finds the key region:\x00:zone, quoted or not.
func zoneIn(text string) string {
	if _, value, structured := strings.Cut(text, `"zone"="`); structured {
		text, _, _ = strings.Cut(value, `"`)
	} else {
		_, text, _ = strings.Cut(text, "that zone ")
		text, _, _ = strings.Cut(text, " is now in")
	}
	for _, separator := range []string{":\x00:", `:\x00:`, `:\u0000:`} {
		if region, zone, ok := strings.Cut(text, separator); ok {
			return region + ":" + zone
		}
	}
	return ":"
}

func stateIn(text string) string {
	for _, state := range []string{"PartialDisruption", "FullDisruption", "Normal"} {
		if strings.Contains(text, state) {
			return state
		}
	}
	return ""
}
