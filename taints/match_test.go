package taints

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/internal/tolerationcases"
)

func seconds(n int64) *int64 { return &n }

func TestTolerates(t *testing.T) {
	const (
		exists = v1.TolerationOpExists
		equal  = v1.TolerationOpEqual
	)
	taint := v1.Taint{Key: "k", Value: "v", Effect: v1.TaintEffectNoExecute}
	for name, row := range map[string]struct {
		toleration v1.Toleration
		taint      v1.Taint
		want       bool
	}{
		"equal":                             {v1.Toleration{Key: "k", Operator: equal, Value: "v", Effect: v1.TaintEffectNoExecute}, taint, true},
		"no operator means equal":           {v1.Toleration{Key: "k", Value: "v", Effect: v1.TaintEffectNoExecute}, taint, true},
		"no effect means all":               {v1.Toleration{Key: "k", Operator: equal, Value: "v"}, taint, true},
		"another effect":                    {v1.Toleration{Key: "k", Operator: exists, Effect: v1.TaintEffectNoSchedule}, taint, false},
		"another value":                     {v1.Toleration{Key: "k", Operator: equal, Value: "w"}, taint, false},
		"no value is a value":               {v1.Toleration{Key: "k", Operator: equal}, taint, false},
		"no value twice":                    {v1.Toleration{Key: "k"}, v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute}, true},
		"another key":                       {v1.Toleration{Key: "l", Operator: exists}, taint, false},
		"another key, last byte equal":      {v1.Toleration{Key: "ak", Operator: exists}, v1.Taint{Key: "bk"}, false},
		"a longer key":                      {v1.Toleration{Key: "kk", Operator: exists}, taint, false},
		"a taint without a key":             {v1.Toleration{Key: "k", Operator: exists}, v1.Taint{Effect: v1.TaintEffectNoExecute}, false},
		"exists":                            {v1.Toleration{Key: "k", Operator: exists}, taint, true},
		"exists ignores the value":          {v1.Toleration{Key: "k", Operator: exists, Value: "w"}, taint, true},
		"everything":                        {v1.Toleration{Operator: exists}, taint, true},
		"every key of an effect":            {v1.Toleration{Operator: exists, Effect: v1.TaintEffectNoExecute}, taint, true},
		"every key of another effect":       {v1.Toleration{Operator: exists, Effect: v1.TaintEffectPreferNoSchedule}, taint, false},
		"no key and equal, as k8s.io/api":   {v1.Toleration{Operator: equal, Value: "v"}, taint, true},
		"no key and equal, another value":   {v1.Toleration{Operator: equal, Value: "w"}, taint, false},
		"the zero toleration":               {v1.Toleration{}, taint, false},
		"an operator nobody knows":          {v1.Toleration{Key: "k", Operator: "In", Value: "v"}, taint, false},
		"an operator in another case":       {v1.Toleration{Key: "k", Operator: "exists", Value: "v"}, taint, false},
		"an effect nobody knows":            {v1.Toleration{Key: "k", Operator: exists, Effect: "NoSuch"}, taint, false},
		"the same effect that nobody knows": {v1.Toleration{Key: "k", Operator: exists, Effect: "NoSuch"}, v1.Taint{Key: "k", Effect: "NoSuch"}, true},
		"numbers, switched off":             {v1.Toleration{Key: "k", Operator: operatorLt, Value: "9"}, v1.Taint{Key: "k", Value: "5"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, Tolerates(&row.toleration, &row.taint, false))
			require.Equal(t, row.want, naiveTolerates(row.toleration, row.taint, false), "the reference agrees")
		})
	}
}

func TestNumericOperators(t *testing.T) {
	const less, greater, neither = "less", "greater", "neither"
	for _, row := range []struct{ taint, toleration, want string }{
		{"5", "9", less}, {"9", "5", greater}, {"5", "5", neither},
		{"-9", "-5", less}, {"-1", "0", less}, {"0", "-1", greater}, {"0", "0", neither},
		{"10", "9", greater}, // not compared as text
		{"9223372036854775807", "9223372036854775806", greater},
		{"-9223372036854775808", "-9223372036854775807", less},
		{"9223372036854775808", "1", neither}, {"1", "9223372036854775808", neither},
		{"-9223372036854775809", "1", neither}, {"18446744073709551617", "0", neither},
		{"99999999999999999999", "0", neither}, {"9999999999999999999", "0", neither},
		{"", "1", neither}, {"1", "", neither}, {"-", "1", neither}, {"+5", "9", neither},
		{"05", "9", neither}, {"-0", "9", neither}, {"00", "9", neither}, {"-05", "9", neither},
		{"5.0", "9", neither}, {" 5", "9", neither}, {"5 ", "9", neither}, {"0x5", "9", neither}, {"1_0", "99", neither}, {"five", "9", neither}, {"--5", "9", neither},
	} {
		taint := v1.Taint{Key: "k", Value: row.taint, Effect: v1.TaintEffectNoExecute}
		for operator, name := range map[v1.TolerationOperator]string{operatorLt: less, operatorGt: greater} {
			toleration := v1.Toleration{Key: "k", Operator: operator, Value: row.toleration}
			require.Equal(t, row.want == name, Tolerates(&toleration, &taint, true), "%q %s %q", row.taint, operator, row.toleration)
			require.False(t, Tolerates(&toleration, &taint, false), "off")
			toleration.Key = "l"
			require.False(t, Tolerates(&toleration, &taint, true), "another key")
			toleration.Key, toleration.Effect = "k", v1.TaintEffectNoSchedule
			require.False(t, Tolerates(&toleration, &taint, true), "another effect")
		}
	}
}

func TestMatchingDoesNotAllocate(t *testing.T) {
	taints, tolerations := tolerationcases.Typical()
	tolerations = append(tolerations, v1.Toleration{Key: taints[0].Key, Operator: operatorLt, Value: "no number"})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		Tolerate(taints, tolerations, false)
		Untolerated(taints, tolerations, false)
		using(&taints[0], tolerations[1:], true)
	}))
}

func TestTolerate(t *testing.T) {
	const at = v1.TaintEffectNoExecute
	taints := []v1.Taint{{Key: "a", Effect: at}, {Key: "soft", Effect: v1.TaintEffectNoSchedule}, {Key: "b", Effect: at}}
	tolerate := func(key string, s *int64) v1.Toleration {
		return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, TolerationSeconds: s}
	}
	forever := Deadline{Forever: true, Toleration: -1}
	for name, row := range map[string]struct {
		selection   []v1.Taint
		tolerations []v1.Toleration
		want        Deadline
	}{
		"no taints":            {nil, nil, forever},
		"no taints, tolerated": {nil, []v1.Toleration{tolerate("a", seconds(0))}, forever},
		"none that evicts":     {taints[1:2], nil, forever},
		"no tolerations":       {taints, nil, Deadline{Taint: &taints[0], Toleration: -1}},
		"one is not tolerated": {taints, []v1.Toleration{tolerate("a", nil)}, Deadline{Taint: &taints[2], Toleration: -1}},
		"neither the other":    {taints, []v1.Toleration{tolerate("b", seconds(5))}, Deadline{Taint: &taints[0], Toleration: -1}},
		"all for ever":         {taints, []v1.Toleration{tolerate("", nil)}, forever},
		"one is finite":        {taints, []v1.Toleration{tolerate("a", nil), tolerate("b", seconds(5))}, Deadline{For: 5 * time.Second, Taint: &taints[2], Toleration: 1}},
		"the least":            {taints, []v1.Toleration{tolerate("b", seconds(5)), tolerate("a", seconds(4))}, Deadline{For: 4 * time.Second, Taint: &taints[0], Toleration: 1}},
		"of equal ones the first taint": {taints, []v1.Toleration{tolerate("b", seconds(4)), tolerate("a", seconds(4))},
			Deadline{For: 4 * time.Second, Taint: &taints[0], Toleration: 1}},
		"what is not used has no say": {taints, []v1.Toleration{tolerate("", seconds(50)), tolerate("a", seconds(1))},
			Deadline{For: 50 * time.Second, Taint: &taints[0], Toleration: 0}},
		"used for ever, finite later": {taints, []v1.Toleration{tolerate("", nil), tolerate("a", seconds(1))}, forever},
		"zero is at once":             {taints, []v1.Toleration{tolerate("", seconds(0))}, Deadline{Taint: &taints[0]}},
		"negative is at once":         {taints, []v1.Toleration{tolerate("a", seconds(9)), tolerate("b", seconds(-7))}, Deadline{Taint: &taints[2], Toleration: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Tolerate(row.selection, row.tolerations, false)
			require.Equal(t, row.want, got)
			require.Same(t, row.want.Taint, got.Taint, "a view, no copy")
		})
	}
}
