package simulation

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/evictkit/evictkit/internal/scenario"
)

// zones makes three zones with that many nodes and 30 pods each.
func zones(nodes int) []scenario.Zone {
	all := make([]scenario.Zone, 3)
	for i := range all {
		n := nodes / 3
		if i < nodes%3 {
			n++
		}
		all[i] = scenario.Zone{Name: string(rune('a' + i)), Region: "r1", Nodes: n, PodsPerNode: 30, TolerationSeconds: ptr(scenario.TolerationSeconds(300))}
	}
	return all
}

func benchmarkPlay(b *testing.B, s *scenario.Scenario) {
	for i := 0; i < b.N; i++ {
		r, err := Play(context.Background(), s, New(&Clock{}), Options{Line: func(scenario.Line) error { return nil }})
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
	s := &scenario.Scenario{Cluster: scenario.Cluster{Zones: zones(5000)}, Until: at(24 * time.Hour)}
	for i := range 3 {
		zone := string(rune('a' + i))
		begin := time.Duration(4+6*i) * time.Hour
		s.Events = append(s.Events,
			scenario.Event{At: at(begin), Fail: &scenario.Selector{Zone: &zone}},
			scenario.Event{At: at(begin + time.Hour), Recover: &scenario.Selector{Zone: &zone}})
	}
	benchmarkPlay(b, s)
}

// BenchmarkLarge is one hour of 100,000 nodes and 3,000,000 pods that lose a zone after ten minutes.
func BenchmarkLarge(b *testing.B) {
	zone := "a"
	benchmarkPlay(b, &scenario.Scenario{
		Cluster: scenario.Cluster{Zones: zones(100000)},
		Events:  []scenario.Event{{At: at(10 * time.Minute), Fail: &scenario.Selector{Zone: &zone}}},
		Until:   at(time.Hour),
	})
}

// BenchmarkSmall is what tests play most.
func BenchmarkSmall(b *testing.B) {
	for _, nodes := range []int{30, 300} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			zone := "a"
			benchmarkPlay(b, &scenario.Scenario{
				Cluster: scenario.Cluster{Zones: zones(nodes)},
				Events:  []scenario.Event{{At: at(2 * time.Minute), Fail: &scenario.Selector{Zone: &zone}}},
				Until:   at(20 * time.Minute),
			})
		})
	}
}
