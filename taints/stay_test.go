package taints

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

func TestTolerate(t *testing.T) {
	const at = v1.TaintEffectNoExecute
	taints := []v1.Taint{{Key: "a", Effect: at}, {Key: "soft", Effect: v1.TaintEffectNoSchedule}, {Key: "b", Effect: at}}
	tolerate := func(key string, s *int64) v1.Toleration {
		return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, TolerationSeconds: s}
	}
	forever := Stay{Forever: true, Toleration: -1}
	for name, row := range map[string]struct {
		selection   Selection
		tolerations []v1.Toleration
		want        Stay
	}{
		"no taints":            {NoExecute(nil), nil, forever},
		"no taints, tolerated": {NoExecute(nil), []v1.Toleration{tolerate("a", seconds(0))}, forever},
		"none that evicts":     {NoExecute(taints[1:2]), nil, forever},
		"the zero selection":   {Selection{}, nil, forever},
		"no tolerations":       {NoExecute(taints), nil, Stay{Taint: &taints[0], Toleration: -1}},
		"one is not tolerated": {NoExecute(taints), []v1.Toleration{tolerate("a", nil)}, Stay{Taint: &taints[2], Toleration: -1}},
		"neither the other":    {NoExecute(taints), []v1.Toleration{tolerate("b", seconds(5))}, Stay{Taint: &taints[0], Toleration: -1}},
		"all for ever":         {NoExecute(taints), []v1.Toleration{tolerate("", nil)}, forever},
		"one is finite":        {NoExecute(taints), []v1.Toleration{tolerate("a", nil), tolerate("b", seconds(5))}, Stay{For: 5 * time.Second, Taint: &taints[2], Toleration: 1}},
		"the least":            {NoExecute(taints), []v1.Toleration{tolerate("b", seconds(5)), tolerate("a", seconds(4))}, Stay{For: 4 * time.Second, Taint: &taints[0], Toleration: 1}},
		"of equal ones the first taint": {NoExecute(taints), []v1.Toleration{tolerate("b", seconds(4)), tolerate("a", seconds(4))},
			Stay{For: 4 * time.Second, Taint: &taints[0], Toleration: 1}},
		"what is not used has no say": {NoExecute(taints), []v1.Toleration{tolerate("", seconds(50)), tolerate("a", seconds(1))},
			Stay{For: 50 * time.Second, Taint: &taints[0], Toleration: 0}},
		"used for ever, finite later": {NoExecute(taints), []v1.Toleration{tolerate("", nil), tolerate("a", seconds(1))}, forever},
		"zero is at once":             {NoExecute(taints), []v1.Toleration{tolerate("", seconds(0))}, Stay{Taint: &taints[0]}},
		"negative is at once":         {NoExecute(taints), []v1.Toleration{tolerate("a", seconds(9)), tolerate("b", seconds(-7))}, Stay{Taint: &taints[2], Toleration: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Tolerate(row.selection, row.tolerations)
			require.Equal(t, row.want, got)
			require.Same(t, row.want.Taint, got.Taint, "a view, no copy")
		})
	}
}

func TestSeconds(t *testing.T) {
	for _, row := range []struct {
		seconds *int64
		want    time.Duration
	}{
		{seconds(1), time.Second},
		{seconds(300), 5 * time.Minute},
		{seconds(0), 0},
		{seconds(-1), 0},
		{seconds(math.MinInt64), 0},
		{seconds(9_223_372_036), 9_223_372_036 * time.Second},
		{seconds(9_223_372_037), math.MaxInt64},
		{seconds(9e18), math.MaxInt64},
		{seconds(math.MaxInt64), math.MaxInt64},
	} {
		d, forever := lastsFor(&v1.Toleration{TolerationSeconds: row.seconds})
		require.False(t, forever)
		require.Equal(t, row.want, d, "%d", *row.seconds)
	}
	d, forever := lastsFor(&v1.Toleration{})
	require.True(t, forever)
	require.Zero(t, d)
}

func TestTolerateForLongerThanADurationHolds(t *testing.T) {
	taints := []v1.Taint{{Key: "a", Effect: v1.TaintEffectNoExecute}}
	stay := Tolerate(NoExecute(taints), []v1.Toleration{{Operator: v1.TolerationOpExists, TolerationSeconds: seconds(9e18)}})
	require.Equal(t, Stay{For: math.MaxInt64, Taint: &taints[0]}, stay, "finite, and not overflown")
}
