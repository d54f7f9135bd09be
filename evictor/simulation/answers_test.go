package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// While writes fail nothing is written, and all is once they succeed. What was written though its answer was an error is
// written once.
func TestFailingWrites(t *testing.T) {
	for _, answer := range []string{simulation.AnswerForbidden, simulation.AnswerBusy, simulation.AnswerInternal, simulation.AnswerWritten} {
		up := 4 * time.Minute
		s := outage(time.Minute, up-time.Minute, simulation.Event{At: 90 * time.Second, Fail: &simulation.Nodes{Names: []string{"a-000"}}})
		s.Events[1].API = &simulation.API{State: simulation.APIFailing, Answer: answer}
		_, lines := recorded(t, s)
		wrote := map[timeline.Kind]int{}
		for _, l := range lines {
			switch l.Kind {
			case timeline.KindCondition, timeline.KindTaint, timeline.KindEvict:
				wrote[l.Kind]++
				require.Equal(t, answer == simulation.AnswerWritten, l.T < up, "%s: %+v", answer, l)
			}
		}
		// Four conditions are Unknown, and the node gets two taints.
		require.Equal(t, map[timeline.Kind]int{timeline.KindCondition: 4, timeline.KindTaint: 2, timeline.KindEvict: 2}, wrote, answer)
	}
}
