package simulation

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// BenchmarkLargeZoneDies is half an hour of 100,000 nodes and 1,000,000 pods that lose one of three zones after five
// minutes. It reports the memory of the process, the evictor's part of it, and writes by kind: in the first minute of
// verdicts, in its busiest second, and in a second after that. An API client with a rate limit sends the same writes
// later.
func BenchmarkLargeZoneDies(b *testing.B) {
	const fail, until = 5 * time.Minute, 30 * time.Minute
	for range b.N {
		zone := "a"
		s := Scenario{
			Zones:        zones(100_000),
			Events:       []Event{{At: fail, Fail: &Nodes{Zone: zone}}},
			Until:        until,
			ReplaceAfter: -1,
		}
		for i := range s.Zones {
			s.Zones[i].PodsPerNode = 10
		}
		var stored, held uint64
		written := make(map[timeline.Kind][]int) // by kind, in each second
		quiet := 0
		s.Timeline = func(l timeline.Line) error {
			switch {
			case !isWrite(l):
			case l.T < fail:
				quiet++
			default:
				if written[l.Kind] == nil {
					written[l.Kind] = make([]int, int(until/time.Second)+1)
				}
				written[l.Kind][int(l.T/time.Second)]++
			}
			return nil
		}
		s.Progress = func(at time.Duration) {
			if held == 0 && at > time.Minute {
				held = heapInUse()
			}
		}
		_, err := Play(context.Background(), s, func(w *World) (Controller, error) {
			e, err := w.NewEvictor(evictor.Options{})
			stored = heapInUse()
			return e, err
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(held)/(1<<20), "MiB-quiet")
		b.ReportMetric(float64(held-stored)/(1<<20), "MiB-evictor")
		b.ReportMetric(float64(quiet), "writes-quiet")
		for kind, seconds := range written {
			first := slices.IndexFunc(seconds, func(n int) bool { return n > 0 })
			minute := sum(seconds[first:min(first+60, len(seconds))])
			b.ReportMetric(float64(slices.Max(seconds)), string(kind)+"/s-most")
			b.ReportMetric(float64(minute), string(kind)+"-first-minute")
			b.ReportMetric(float64(sum(seconds[len(seconds)-601:]))/600, string(kind)+"/s-later")
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
	}
}

// isWrite says whether a line is a write to the API. Of several conditions that are written together, one is.
func isWrite(l timeline.Line) bool {
	switch l.Kind {
	case timeline.KindCondition:
		return l.Type == string(v1.NodeReady)
	case timeline.KindTaint, timeline.KindPodNotReady, timeline.KindEvict:
		return true
	default:
		return false
	}
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
