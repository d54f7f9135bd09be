package budget

import (
	"math"
	"math/big"
	"math/rand"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLimits(t *testing.T) {
	for limit, want := range map[Limit][3]int64{
		Count(3): {3, 3, 3}, Count(3).Up(): {3, 3, 3}, Percent(20): {0, 2, 20}, Percent(20).Up(): {1, 3, 21}, Percent(100): {3, 11, 101}, {}: {0, 0, 0},
		Percent(1e-300): {0, 0, 0}, Percent(1e-300).Up(): {1, 1, 1}, Percent(0).Up(): {0, 0, 0},
		Percent(45).AtLeast(3): {3, 4, 45}, Percent(45).Up().AtLeast(3): {3, 5, 46}, Count(2).AtLeast(3): {3, 3, 3}, Limit{}.AtLeast(3): {0, 0, 0},
	} {
		require.Equal(t, want, [3]int64{limit.Of(3), limit.Of(11), limit.Of(101)}, limit.String())
	}
	require.Zero(t, Percent(50).Up().Of(-3))
	require.EqualValues(t, math.MaxInt64, Percent(100).Of(math.MaxInt64))
	require.Equal(t, "Healthy", Healthy.String())
	require.Equal(t, "45% rounded up, at least 3", Percent(45).Up().AtLeast(3).String())
	require.False(t, Percent(45).AtLeast(-1).valid())
}

// A percentage is the decimal number that people read, not the binary one that is nearest to it.
func TestPercentagesAreDecimal(t *testing.T) {
	require.EqualValues(t, 33, Percent(2.2).Up().Of(1500))
	require.EqualValues(t, 69, Percent(4.6).Of(1500))
	for tenths := range int64(1001) {
		down, up := Percent(float64(tenths)/10), Percent(float64(tenths)/10).Up()
		for total := range int64(2001) {
			if down.Of(total) != tenths*total/1000 || up.Of(total) != (tenths*total+999)/1000 {
				t.Fatalf("%d tenths of a percent of %d: %d, %d", tenths, total, down.Of(total), up.Of(total))
			}
		}
	}
}

// Any percentage of any total is as in exact arithmetic.
func TestPercentagesAreExact(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 20_000 {
		p := []float64{100 * r.Float64(), math.Pow(10, 2-330*r.Float64()), float64(r.Intn(100_001)) / 1000}[r.Intn(3)]
		total := r.Int63() >> r.Intn(63)
		share, ok := new(big.Rat).SetString(strconv.FormatFloat(p, 'g', -1, 64))
		require.True(t, ok)
		share.Mul(share, big.NewRat(total, 100))
		whole, rest := new(big.Int).QuoRem(share.Num(), share.Denom(), new(big.Int))
		require.Equal(t, whole.Int64(), Percent(p).Of(total), "%g of %d", p, total)
		require.Equal(t, whole.Int64()+int64(rest.Sign()), Percent(p).Up().Of(total), "%g of %d, up", p, total)
	}
}
