package steady

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

// panicking is a clock whose next reading panics if told so.
type panicking struct {
	*testingclock.FakePassiveClock
	now bool
}

func (c *panicking) Now() time.Time {
	if c.now {
		panic("no time")
	}
	return c.FakePassiveClock.Now()
}

func TestAClockThatPanicsLeavesTheGuardUnlocked(t *testing.T) {
	c := &panicking{FakePassiveClock: testingclock.NewFakePassiveClock(epoch)}
	g := Guard{Clock: c}
	g.Read()
	g.Unlock()
	c.now = true
	for name, read := range map[string]func(){
		"its only reading":                          func() { g.Read() },
		"its second one, because the first is late": func() { g.ReadAt(epoch.Add(-1)) },
	} {
		require.PanicsWithValue(t, "no time", read, name)
		require.True(t, g.TryLock(), name)
		g.Unlock()
	}
}
