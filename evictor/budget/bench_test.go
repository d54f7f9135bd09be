package budget

import (
	"fmt"
	"math/rand"
	"testing"
	"time"
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
