package zone

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	betaRegion = "failure-domain.beta.kubernetes.io/region"
	betaZone   = "failure-domain.beta.kubernetes.io/zone"
	region     = "topology.kubernetes.io/region"
	zoneLabel  = "topology.kubernetes.io/zone"
)

func TestNames(t *testing.T) {
	for state, name := range map[State]string{
		Initial: "Initial", Normal: "Normal", PartialDisruption: "PartialDisruption", FullDisruption: "FullDisruption",
	} {
		require.Equal(t, name, state.String())
		text, err := state.MarshalText()
		require.NoError(t, err)
		var back State
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, state, back)
	}
	for transition, name := range map[Transition]string{None: "None", Entered: "Entered", Left: "Left"} {
		require.Equal(t, name, transition.String())
	}
}

func TestInvalidNamesChangeNothing(t *testing.T) {
	require.Equal(t, "State(0)", State(0).String())
	require.Equal(t, "State(5)", State(5).String())
	require.Equal(t, "Transition(3)", Transition(3).String())
	state := Normal
	require.Error(t, state.UnmarshalText([]byte("")))
	require.Equal(t, Normal, state)
}
