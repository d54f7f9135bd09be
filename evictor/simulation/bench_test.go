package simulation

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// zones makes three zones with that many nodes and 30 pods each.
func zones(nodes int) []Zone {
	all := make([]Zone, 3)
	for i := range all {
		n := nodes / 3
		if i < nodes%3 {
			n++
		}
		all[i] = Zone{Name: string(rune('a' + i)), Region: "r1", Nodes: n, PodsPerNode: 30, TolerationSeconds: ptr(TolerationSeconds(300))}
	}
	return all
}

func benchmarkPlay(b *testing.B, s Scenario) {
	s.Timeline = func(timeline.Line) error { return nil }
	for i := 0; i < b.N; i++ {
		r, err := Play(context.Background(), s)
		if err != nil {
			b.Fatal(err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
		b.ReportMetric(float64(r.Evicted), "evicted")
	}
}

// BenchmarkDay is 24 hours of 5,000 nodes and 150,000 pods with three zone outages of one hour.
func BenchmarkDay(b *testing.B) {
	s := Scenario{Zones: zones(5000), Until: 24 * time.Hour, ReplaceAfter: -1}
	for i := range 3 {
		zone := string(rune('a' + i))
		begin := time.Duration(4+6*i) * time.Hour
		s.Events = append(s.Events,
			Event{At: begin, Fail: &Nodes{Zone: zone}},
			Event{At: begin + time.Hour, Recover: &Nodes{Zone: zone}})
	}
	benchmarkPlay(b, s)
}

// BenchmarkLarge is one hour of 100,000 nodes and 3,000,000 pods that lose a zone after ten minutes.
func BenchmarkLarge(b *testing.B) {
	zone := "a"
	benchmarkPlay(b, Scenario{
		Zones:        zones(100000),
		Events:       []Event{{At: 10 * time.Minute, Fail: &Nodes{Zone: zone}}},
		Until:        time.Hour,
		ReplaceAfter: -1,
	})
}
