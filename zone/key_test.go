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
	for pending, name := range map[Pending]string{GoOn: "GoOn", Wait: "Wait", Cancel: "Cancel"} {
		require.Equal(t, name, pending.String())
		text, err := pending.MarshalText()
		require.NoError(t, err)
		back := Pending(9)
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, pending, back)
	}
	require.Equal(t, Cancel, max(GoOn, Cancel, Wait), "the strictest")
	for transition, name := range map[Transition]string{None: "None", Entered: "Entered", Left: "Left"} {
		require.Equal(t, name, transition.String())
	}
}

func TestInvalidNamesAreErrors(t *testing.T) {
	require.Equal(t, "Pending(3)", Pending(3).String())
	_, err := Pending(3).MarshalText()
	require.EqualError(t, err, "zone: Pending(3) is not a valid Pending")
	pending := Wait
	require.EqualError(t, pending.UnmarshalText([]byte("wait")), `zone: unknown Pending "wait"`)
	require.Equal(t, Wait, pending)
	require.Equal(t, "State(0)", State(0).String())
	require.Equal(t, "State(5)", State(5).String())
	require.Equal(t, "Transition(3)", Transition(3).String())
	_, err = State(0).MarshalText()
	require.EqualError(t, err, "zone: State(0) is not a state")
	state := Normal
	require.EqualError(t, state.UnmarshalText([]byte("")), `zone: unknown state ""`)
	require.Equal(t, Normal, state)
}
