package simulator

import (
	"sync/atomic"
	"time"
)

// Epoch is time 0 of every simulation.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// VirtualClock is the time of a cluster. The owner of the cluster moves it.
type VirtualClock interface {
	Now() time.Time
	Since(time.Time) time.Duration
	// Elapsed returns the time since Epoch; Set moves the clock to d after it.
	Elapsed() time.Duration
	Set(d time.Duration)
}

// Clock is a minimal VirtualClock, without timers. The zero Clock is at Epoch.
type Clock struct{ offset atomic.Int64 }

// Now returns the virtual instant.
func (c *Clock) Now() time.Time { return Epoch.Add(time.Duration(c.offset.Load())) }

// Since returns the virtual time since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Elapsed returns the time since Epoch.
func (c *Clock) Elapsed() time.Duration { return time.Duration(c.offset.Load()) }

// Set moves the clock to d after Epoch.
func (c *Clock) Set(d time.Duration) { c.offset.Store(int64(d)) }
