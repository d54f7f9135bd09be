package timedworker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPause(t *testing.T) {
	r := recorded(t, Config{})
	r.Schedule("k", 1, r.in(time.Second))
	r.Pause("upgrade")
	r.Pause("blind")
	r.Pause("upgrade")
	require.Equal(t, []string{"upgrade", "blind"}, r.Paused())
	require.Empty(t, r.step(t, time.Minute))
	_, some := r.Next()
	require.False(t, some, "nothing will start by itself")
	require.Zero(t, r.Wait())
	require.Equal(t, Unknown, r.Schedule("new", 1, r.in(time.Hour)))
	require.Equal(t, Waiting, r.Schedule("new", 1, r.in(2*time.Hour)))
	require.Equal(t, Waiting, r.Cancel("new"))
	require.False(t, r.Resume("other"))
	require.True(t, r.Resume("upgrade"))
	require.False(t, r.Resume("upgrade"))
	require.Empty(t, r.step(t, 0), "one reason is enough")
	require.True(t, r.Resume("blind"))
	require.Empty(t, r.Paused())
	next, some := r.Next()
	require.True(t, some)
	require.Equal(t, r.clk.Now(), next, "not before now")
	require.Equal(t, []string{"k"}, r.step(t, 0))
}
