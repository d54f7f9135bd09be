package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExpectationsAreChecked(t *testing.T) {
	amount := func(v float64) *Amount { a := Amount(v); return &a }
	until := Duration(0)
	s := &Scenario{Until: &until, Expect: []Expectation{
		{Figure: "evicted", AtMost: amount(1)},
		{Figure: "evicted"},
		{AtLeast: amount(2), AtMost: amount(1)},
		{Figure: "evicted", Zone: "a", Budget: "n/b", AtMost: amount(1)},
	}}
	err := s.Check(nil)
	require.ErrorContains(t, err, "expect 2: neither atLeast nor atMost is set")
	require.ErrorContains(t, err, "expect 3: figure is missing\nexpect 3: atLeast is more than atMost")
	require.ErrorContains(t, err, "expect 4: more than one of zone, workload and budget are set")
	require.NotContains(t, err.Error(), "expect 1:")
}

func TestAmounts(t *testing.T) {
	for text, want := range map[string]Amount{"12": 12, "-1": -1, "0.5": 0.5, "1h30m": 5400, "1e3": 1000} {
		var a Amount
		require.NoError(t, a.UnmarshalText([]byte(text)))
		require.Equal(t, want, a)
	}
	for _, text := range []string{"", "many", "NaN", "inf", "10%"} {
		require.Error(t, new(Amount).UnmarshalText([]byte(text)), text)
	}
}
