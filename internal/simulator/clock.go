package simulator

import (
	"sync/atomic"
	"time"
)

// Epoch is time 0 of every simulation.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Clock is virtual time. It only tells the time; whoever owns it moves it.
type Clock struct{ offset atomic.Int64 }

// Now is the virtual instant.
func (c *Clock) Now() time.Time { return Epoch.Add(time.Duration(c.offset.Load())) }

// Since is the virtual time that passed since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Elapsed is the time since Epoch.
func (c *Clock) Elapsed() time.Duration { return time.Duration(c.offset.Load()) }

// Set moves the clock to d after Epoch.
func (c *Clock) Set(d time.Duration) { c.offset.Store(int64(d)) }
