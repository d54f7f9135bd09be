package gate_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/zone"
)

// What is missing refuses, and says which function was given nothing.
func TestWrongUseIsAnswered(t *testing.T) {
	var pause *gate.Pause
	var none gate.Func
	for want, row := range map[string]struct {
		of  gate.Gate
		act gate.Do
	}{
		"gate.Leader has no function":                              {gate.Leader(nil), gate.Write},
		"gate.Breaker has no function":                             {gate.Breaker(nil), gate.Harm},
		"gate.All: gate 1 is a nil *gate.Pause: leave it out":      {gate.All(nil, pause), gate.Write},
		"gate.All: gate 0 is a nil gate.Func: leave it out":        {gate.All(none), gate.Evict},
		"a nil *gate.Refused is an error all the same: return nil": {gate.All(gate.Func(func(context.Context, gate.Act) error { return (*gate.Refused)(nil) })), gate.Turn},
	} {
		require.ErrorContains(t, row.of.May(context.Background(), gate.Act{Do: row.act}), want)
	}
	require.NoError(t, gate.All(nil, gate.Leader(func() error { return nil }), gate.Breaker(func(zone.Key) error { return nil })).May(context.Background(), gate.Act{Do: gate.Write}))
}
