package main

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// measured is one side of a row: what the ratio is made of, nanoseconds or bytes, and how it reads.
type measured struct {
	value float64
	text  string
}

// operation times op, which is given 0, 1, 2 and so on, and counts its allocations.
func operation(runs int, op func(i int)) measured {
	i := 0
	var best measured
	for run := range runs {
		r := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				op(i)
				i++
			}
		})
		ns := float64(r.T.Nanoseconds()) / float64(r.N)
		if run == 0 || ns < best.value {
			best = measured{ns, short(ns) + ", " + allocations(r.AllocsPerOp())}
		}
	}
	return best
}

func allocations(n int64) string {
	if n == 1 {
		return "1 allocation"
	}
	return fmt.Sprintf("%d allocations", n)
}

// short writes nanoseconds with three digits.
func short(ns float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if ns >= 0.9995*u.size {
			return fmt.Sprintf("%.3g %s", ns/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.3g ns", ns)
}

// cpu is the CPU time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// growth is by how many bytes an item the heap grows for what build makes of n items.
func growth(n int, build func() any) measured {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // pools need two
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	built := build()
	bytes := (float64(heap()) - float64(before)) / float64(n)
	runtime.KeepAlive(built)
	return measured{bytes, fmt.Sprintf("%.0f bytes", bytes)}
}

// wall is the time by the machine's clock, also in a bubble.
func wall() time.Duration {
	var now syscall.Timeval
	if err := syscall.Gettimeofday(&now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
