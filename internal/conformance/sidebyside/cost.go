package main

import (
	"fmt"
	"math"
	"runtime"
	"syscall"
	"time"
)

// cost is CPU time in nanoseconds, allocations and bytes. NaN means not measured.
type cost struct{ cpu, allocations, bytes float64 }

// spent returns what the whole process spends while work runs, including garbage collection.
func spent(work func()) cost {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := cpu()
	work()
	took := cpu() - began
	runtime.ReadMemStats(&after)
	return cost{float64(took), float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)}
}

// cpu returns the CPU time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) //nolint:forbidigo // it does not fail for one's own process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// grown returns by how many bytes the heap grows for what build makes.
func grown(build func() any) cost {
	heap := func() float64 {
		runtime.GC()
		runtime.GC() // pools need two collections
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	built := build()
	after := heap()
	runtime.KeepAlive(built)
	return cost{math.NaN(), math.NaN(), after - before}
}

func (c cost) per(n int) cost {
	return cost{c.cpu / float64(n), c.allocations / float64(n), c.bytes / float64(n)}
}

func (c cost) least(d cost) cost {
	return cost{min(c.cpu, d.cpu), min(c.allocations, d.allocations), min(c.bytes, d.bytes)}
}

// pair measures both sides in turn, so that neither has the better moment, and keeps the least of each figure.
func pair(runs int, ours, upstream func() cost) (a, b cost) {
	a, b = ours(), upstream()
	for range runs - 1 {
		a, b = a.least(ours()), b.least(upstream())
	}
	return a, b
}

// operations returns the cost of op, which is called with 0, 1, 2 and so on, in batches that grow until one takes long
// enough. The first is not counted, because what grows for it stays.
func (s setting) operations(op func(i int)) cost {
	op(0)
	i := 1
	for batch := 1; ; batch *= 4 {
		c := spent(func() {
			for range batch {
				op(i)
				i++
			}
		})
		if c.cpu >= float64(s.batch) {
			return c.per(batch)
		}
	}
}

// duration formats nanoseconds with three digits.
func duration(ns float64) string {
	return scaled(ns, "ns", unit{1e9, "s"}, unit{1e6, "ms"}, unit{1e3, "µs"})
}

func amount(n float64) string { return scaled(n, "", unit{1e9, "G"}, unit{1e6, "M"}, unit{1e3, "k"}) }

func size(n float64) string {
	return scaled(n, "B", unit{1 << 30, "GiB"}, unit{1 << 20, "MiB"}, unit{1 << 10, "KiB"})
}

type unit struct {
	size float64
	name string
}

// scaled formats three digits. Less than a thousandth is a stray allocation of the runtime.
func scaled(x float64, one string, units ...unit) string {
	for _, u := range units {
		if x >= 0.9995*u.size {
			return digits(x/u.size) + " " + u.name
		}
	}
	if x < 1e-3 {
		x = 0
	}
	if one != "" {
		one = " " + one
	}
	return digits(x) + one
}

func digits(x float64) string {
	switch {
	case x >= 99.95 || x == math.Trunc(x):
		return fmt.Sprintf("%.0f", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}
