package backoff

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestDelay(t *testing.T) {
	b := Backoff{}.Default()
	require.Equal(t, 100*time.Millisecond, b.Delay(1, nil))
	require.Equal(t, 400*time.Millisecond, b.Delay(3, nil))
	require.Equal(t, time.Minute, b.Delay(1<<30, nil))
	b.Jitter = func(d time.Duration) time.Duration { return d / 2 }
	require.Equal(t, 50*time.Millisecond, b.Delay(1, nil))
	b.Jitter = func(time.Duration) time.Duration { return -1 }
	require.Zero(t, b.Delay(1, nil))
}

func TestJitterThatPanics(t *testing.T) {
	b := Backoff{Jitter: func(time.Duration) time.Duration { panic("dice") }}.Default()
	var got any
	require.Equal(t, 200*time.Millisecond, b.Delay(2, func(v any) { got = v }), "the delay stays as it was")
	require.Equal(t, "dice", got)
	require.Equal(t, 200*time.Millisecond, b.Delay(2, nil))
}

func TestValidate(t *testing.T) {
	require.Empty(t, Backoff{}.Validate(field.NewPath("backoff")))
	errs := Backoff{Initial: -1, Max: -1, Factor: math.NaN()}.Validate(field.NewPath("backoff"))
	require.Len(t, errs, 3)
	require.Equal(t, "backoff.initial", errs[0].Field)
	require.Len(t, Backoff{Factor: 0.5}.Validate(nil), 1)
}
