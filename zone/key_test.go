package zone

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	betaRegion = "failure-domain.beta.kubernetes.io/region"
	betaZone   = "failure-domain.beta.kubernetes.io/zone"
	region     = "topology.kubernetes.io/region"
	zoneLabel  = "topology.kubernetes.io/zone"
)

// States are written as upstream writes them, and read back.
func TestNames(t *testing.T) {
	for state, name := range map[State]string{
		Initial: "Initial", Normal: "Normal", PartialDisruption: "PartialDisruption", FullDisruption: "FullDisruption",
	} {
		text, err := json.Marshal(Status{Zone: zoneA, State: state, Counts: Counts{2, 1}})
		require.NoError(t, err)
		require.JSONEq(t, `{"zone":{"region":"r","zone":"a"},"state":"`+name+`","rate":0,"counts":{"total":2,"bad":1}}`, string(text))
		var back Status
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, state, back.State)
	}
}
