package zone

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	betaRegion = "failure-domain.beta.kubernetes.io/region"
	betaZone   = "failure-domain.beta.kubernetes.io/zone"
	region     = "topology.kubernetes.io/region"
	zoneLabel  = "topology.kubernetes.io/zone"
)

func TestKeyOf(t *testing.T) {
	for name, row := range map[string]struct {
		labels map[string]string
		want   Key
	}{
		"nil labels":                {nil, Key{}},
		"no such labels":            {map[string]string{"app": "x"}, Key{}},
		"stable":                    {map[string]string{region: "r", zoneLabel: "z"}, Key{"r", "z"}},
		"deprecated":                {map[string]string{betaRegion: "r", betaZone: "z"}, Key{"r", "z"}},
		"deprecated wins":           {map[string]string{betaRegion: "old", region: "new", betaZone: "o", zoneLabel: "n"}, Key{"old", "o"}},
		"deprecated wins when ''":   {map[string]string{betaRegion: "", region: "new", betaZone: "", zoneLabel: "n"}, Key{}},
		"each part is on its own":   {map[string]string{betaRegion: "old", region: "new", zoneLabel: "n"}, Key{"old", "n"}},
		"the same, other way round": {map[string]string{region: "new", betaZone: "o", zoneLabel: "n"}, Key{"new", "o"}},
		"region only":               {map[string]string{region: "r"}, Key{"r", ""}},
		"zone only":                 {map[string]string{zoneLabel: "z"}, Key{"", "z"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, KeyOf(row.labels))
		})
	}
	require.NotEqual(t, KeyOf(map[string]string{region: "a"}), KeyOf(map[string]string{zoneLabel: "a"}), "a region is not a zone of the same name")
}

func TestExcluded(t *testing.T) {
	require.False(t, Excluded(nil))
	require.False(t, Excluded(map[string]string{zoneLabel: "a"}))
	require.True(t, Excluded(map[string]string{LabelExcludeDisruption: ""}), "presence is enough")
	require.True(t, Excluded(map[string]string{LabelExcludeDisruption: "false"}), "any value")
}

func TestKeyStringAndCompare(t *testing.T) {
	require.Equal(t, "r1:a", Key{"r1", "a"}.String())
	require.Equal(t, ":", Key{}.String())
	require.Equal(t, "r1:\x00:a", Key{"r1", "a"}.ZoneKey())
	require.Equal(t, ":\x00:a", Key{"", "a"}.ZoneKey())
	require.Empty(t, Key{}.ZoneKey())
	sorted := []Key{{}, {"", "a"}, {"a", ""}, {"a", "a"}, {"a", "b"}, {"b", "a"}}
	shuffled := []Key{sorted[4], sorted[2], sorted[5], sorted[0], sorted[3], sorted[1]}
	slices.SortFunc(shuffled, Key.Compare)
	require.Equal(t, sorted, shuffled)
	for i, a := range sorted {
		for j, b := range sorted {
			require.Equal(t, i == j, a.Compare(b) == 0, "%v %v", a, b)
			require.Equal(t, -a.Compare(b), b.Compare(a), "%v %v", a, b)
		}
	}
}

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
