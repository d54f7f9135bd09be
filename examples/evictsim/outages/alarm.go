package outages

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Alarm is a false alarm: every four hours, two hours after the start for the first time, the evictor hears nothing of
// nodes that are well. Status reports, which would tell it, must be rarer than that.
type Alarm struct {
	Name string
	For  time.Duration
	Zone bool // of one zone at a time, each in its turn; otherwise of all
}

// Alarms returns the false alarms, in the order of a table.
func Alarms() []Alarm {
	return []Alarm{
		{Name: "blind observer", For: 15 * time.Minute},
		{Name: "partitioned zone", For: 15 * time.Minute, Zone: true},
		{Name: "a minute of lost leases", For: time.Minute},
	}
}

const alarmEvery = 4 * time.Hour

func (a *Alarm) write(text *strings.Builder, p *played) {
	var zones []string
	for i := range p.nodes {
		zones = append(zones, p.nodes[i].Labels[v1.LabelTopologyZone])
	}
	slices.Sort(zones)
	zones = slices.Compact(zones)
	for i, at := 0, alarmEvery/2; at+a.For < p.until; i, at = i+1, at+alarmEvery {
		whom := `selector: ""`
		if a.Zone {
			whom = "zone: " + zones[i%len(zones)]
		}
		fmt.Fprintf(text, "- {at: %s, loseLeases: {%s}}\n- {at: %s, showLeases: {%s}}\n", at, whom, at+a.For, whom)
	}
}
