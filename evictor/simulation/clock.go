package simulation

import (
	"sync/atomic"
	"time"
)

// Epoch is time 0 of every World; its clock starts there.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// virtualClock is a minimal clock, without timers. The zero one is at Epoch.
type virtualClock struct{ offset atomic.Int64 }

// Now returns the virtual instant.
func (c *virtualClock) Now() time.Time { return Epoch.Add(time.Duration(c.offset.Load())) }

// Since returns the virtual time since t.
func (c *virtualClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// SetTime moves the clock.
func (c *virtualClock) SetTime(t time.Time) { c.offset.Store(int64(t.Sub(Epoch))) }

// worldClock is the clock of a cluster, counted from Epoch.
type worldClock struct {
	settable
	own *virtualClock // if it is one
}

func clockOf(given settable) worldClock {
	if given == nil {
		given = &virtualClock{}
	}
	own, _ := given.(*virtualClock)
	return worldClock{given, own}
}

// Elapsed returns the time since Epoch.
func (c worldClock) Elapsed() time.Duration {
	if c.own != nil {
		return time.Duration(c.own.offset.Load())
	}
	return c.Since(Epoch)
}

// Set moves the clock to d after Epoch.
func (c worldClock) Set(d time.Duration) {
	if c.own != nil {
		c.own.offset.Store(int64(d))
		return
	}
	c.SetTime(Epoch.Add(d))
}
