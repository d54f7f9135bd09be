package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	restart := &Restart{}
	s := Scenario{Until: 10 * time.Minute, Events: []Event{
		{At: 4 * time.Minute, Restart: restart},
		{At: 2 * time.Minute, Repeat: &Repeat{Every: time.Minute, Times: 3, Events: []Event{{At: 0, Restart: restart}, {At: 90 * time.Second, Restart: restart}}}},
		{At: 3 * time.Minute, Repeat: &Repeat{Every: 4 * time.Minute, Events: []Event{{At: 0, Restart: restart}}}},
		{At: 11 * time.Minute, Repeat: &Repeat{Every: time.Minute, Times: 100, Events: []Event{{At: 0, Restart: restart}}}},
	}, ReplaceAfter: -1}
	var got []string
	for _, e := range s.Plan() {
		got = append(got, e.At.String()+" "+e.place())
	}
	require.Equal(t, []string{
		"2m0s event 2, round 1, event 1",
		"3m0s event 2, round 2, event 1", "3m0s event 3, round 1, event 1",
		"3m30s event 2, round 1, event 2",
		"4m0s event 1", "4m0s event 2, round 3, event 1",
		"4m30s event 2, round 2, event 2", "5m30s event 2, round 3, event 2",
		"7m0s event 3, round 2, event 1",
		"11m0s event 4, round 1, event 1",
	}, got)
}
