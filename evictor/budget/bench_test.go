package budget

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// large is 100,000 members in 10,000 racks, ten pools and three zones, under five bounds.
func large(b *testing.B) (*Budget[string, thing3], []string, []thing3) {
	b.Helper()
	budget, err := New(Config[string, thing3]{
		Dimensions: map[string]func(thing3) (string, bool){
			"rack": func(th thing3) (string, bool) { return th.rack, true },
			"pool": func(th thing3) (string, bool) { return th.pool, true },
			"zone": func(th thing3) (string, bool) { return th.zone, true },
		},
		Bad: func(th thing3) bool { return th.bad },
		Bounds: []Bound{
			{Name: "rack", Per: "rack", Of: Unavailable, Max: Percent(50).Up()},
			{Name: "pool", Per: "pool", Of: Bad, Max: Percent(60).Up()},
			{Name: "zone", Per: "zone", Of: Healthy, Min: Percent(20)},
			{Name: "storm", Of: Bad, Max: Percent(70), Quiet: time.Minute},
			{Name: "recent", Per: "zone", Of: Recent, Max: Count(1 << 40), Within: time.Hour},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	const n = 100_000
	keys, of := make([]string, n), make([]thing3, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("node-%06d", i)
		of[i] = thing3{rack: fmt.Sprint("rack-", i%10_000), pool: fmt.Sprint("pool-", i%10), zone: fmt.Sprint("zone-", i%3)}
	}
	rand.New(rand.NewSource(1)).Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i]; of[i], of[j] = of[j], of[i] })
	for i := range keys {
		budget.Set(keys[i], of[i])
	}
	return budget, keys, of
}

type thing3 struct {
	rack, pool, zone string
	bad              bool
}

// BenchmarkFlip: a member becomes bad, or good again.
func BenchmarkFlip(b *testing.B) {
	budget, keys, of := large(b)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		j := i % len(keys)
		of[j].bad = !of[j].bad
		budget.Set(keys[j], of[j])
	}
}

// BenchmarkReserve: a reservation, given back.
func BenchmarkReserve(b *testing.B) {
	budget, keys, _ := large(b)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		r, err := budget.Reserve(keys[i%len(keys)])
		if err != nil {
			b.Fatal(err)
		}
		r.GiveBack()
	}
}

// BenchmarkOpen: a reservation ends in each way, while that many others are open in the same group.
func BenchmarkOpen(b *testing.B) {
	for name, end := range map[string]func(*Budget[string, thing], Reservation[string]){
		"GiveBack": func(_ *Budget[string, thing], r Reservation[string]) { r.GiveBack() },
		"Commit":   func(_ *Budget[string, thing], r Reservation[string]) { r.Commit() },
		"Remove": func(budget *Budget[string, thing], _ Reservation[string]) {
			budget.Remove("last")
		},
	} {
		for _, open := range []int{1, 100_000} {
			b.Run(fmt.Sprint(name, "/", open), func(b *testing.B) {
				config, clock := things(Bound{Name: "recent", Of: Recent, Within: time.Second, Max: Count(1 << 40)}), clocktesting.NewFakeClock(clockBegin)
				config.Clock = clock
				budget, err := New(config)
				if err != nil {
					b.Fatal(err)
				}
				reserve := func(key string) Reservation[string] {
					clock.Step(time.Microsecond)
					budget.Set(key, thing{weight: 1, ok: true})
					r, err := budget.Reserve(key)
					if err != nil {
						b.Fatal(err)
					}
					return r
				}
				for i := range open {
					reserve(fmt.Sprint(i))
				}
				b.ResetTimer()
				for range b.N {
					b.StopTimer()
					budget.End("last")
					r := reserve("last")
					b.StartTimer()
					end(budget, r)
				}
			})
		}
	}
}

// BenchmarkJudge: an action begins and is judged, while that many others are unproven.
func BenchmarkJudge(b *testing.B) {
	for _, open := range []int{1, 100_000} {
		b.Run(fmt.Sprint(open), func(b *testing.B) {
			budget, err := New(things(Bound{Name: "trial", Of: Unproven, Max: Count(1 << 40), Within: 1 << 60, Unjudged: Proved, Quiet: 1}))
			if err != nil {
				b.Fatal(err)
			}
			for i := range open {
				budget.Set(fmt.Sprint(i), thing{})
				budget.Adopt(fmt.Sprint(i), clockBegin)
			}
			budget.Set("last", thing{})
			b.ResetTimer()
			for range b.N {
				budget.Adopt("last", clockBegin)
				budget.Judge("last", Proved)
				budget.End("last")
			}
		})
	}
}

// BenchmarkRefused: a bound refuses.
func BenchmarkRefused(b *testing.B) {
	budget, keys, of := large(b)
	for i := range keys {
		of[i].bad = true
		budget.Set(keys[i], of[i])
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, err := budget.Reserve(keys[i%len(keys)]); err == nil {
			b.Fatal("permitted")
		}
	}
}
