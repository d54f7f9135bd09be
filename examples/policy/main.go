// Command policy answers: how do I decide for myself when a failure is so large that evictions should stop?
//
// A policy is asked about one failure domain at a time, here a rack. This one stops evictions once a quarter of a rack is
// down, until the rack has been well for ten minutes: it remembers since when. Otherwise it follows upstream's policy. The
// program plays the same outage with both policies, in virtual time.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

const calm = 10 * time.Minute

// cautious is the policy. It remembers since when each rack has been well again.
type cautious map[zone.Key]time.Time

// Decide stops a rack's evictions, or says when to ask again.
func (c cautious) Decide(s zone.Situation) zone.Ruling {
	if 4*s.Counts.Bad >= s.Counts.Total && s.Counts.Bad > 0 {
		return zone.Ruling{State: zone.PartialDisruption}
	}
	if s.State == zone.PartialDisruption {
		c[s.Zone] = s.Now // it was disrupted until now
	}
	ruling := zone.DefaultPolicy().Decide(s)
	if since, disrupted := c[s.Zone]; disrupted && s.Now.Sub(since) < calm {
		ruling.Rate, ruling.AskAfter = 0, calm-s.Now.Sub(since)
	}
	return ruling
}

func main() { playBoth(os.Stdout, failed{}) }

func playBoth(out io.Writer, t evictortest.TB) {
	for _, p := range []struct {
		name   string
		policy zone.Policy
	}{{"upstream's", nil}, {"cautious", cautious{}}} {
		play(out, t, p.name, p.policy)
	}
}

// failed stands for the *testing.T that a test hands to evictortest.
type failed struct{}

func (failed) Helper() {}

func (failed) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "policy: "+format+"\n", args...)
	os.Exit(1)
}

// play fails three of a rack's eight hosts. Two come back after nine minutes, the third never does.
func play(out io.Writer, t evictortest.TB, name string, policy zone.Policy) {
	cluster := evictortest.New(t, evictortest.Zone("rack-1", 8), evictortest.Zone("rack-2", 8), evictortest.PodsPerNode(1))
	cluster.Start(evictor.DefaultConfig(), evictor.Options{Policy: policy})
	cluster.Advance(time.Minute)
	cluster.Fail("rack-1-0", "rack-1-1", "rack-1-2")
	cluster.Advance(9 * time.Minute)
	fmt.Fprintf(out, "%s policy: during the outage evicted: %v\n", name, cluster.Evicted())
	cluster.Recover("rack-1-0", "rack-1-1")
	cluster.Advance(30 * time.Minute)
	fmt.Fprintf(out, "%s policy: half an hour later: %v\n", name, cluster.Evicted())
}
