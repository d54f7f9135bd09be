package taints

import (
	"flag"
	"math"
	"math/big"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var operations = flag.Int("operations", 20_000, "how many random deadlines to compare with the model")

func TestPlausibleStart(t *testing.T) {
	created := now.Add(-time.Hour)
	for name, row := range map[string]struct {
		added   *metav1.Time
		created time.Time
		want    time.Time
	}{
		"absent":                    {nil, created, now},
		"as the node was there":     {&metav1.Time{Time: now.Add(-time.Minute)}, created, now.Add(-time.Minute)},
		"this very moment":          {&metav1.Time{Time: now}, created, now},
		"in the future":             {&metav1.Time{Time: now.Add(1)}, created, now},
		"when the node was created": {&metav1.Time{Time: created}, created, created},
		"before the node":           {&metav1.Time{Time: created.Add(-1)}, created, now},
		"no creation is known":      {&metav1.Time{Time: time.Unix(1, 0)}, time.Time{}, time.Unix(1, 0)},
		"zero, and no creation":     {&metav1.Time{}, time.Time{}, time.Time{}},
	} {
		require.Equal(t, row.want, PlausibleStart(&v1.Taint{TimeAdded: row.added}, row.created, now), name)
	}
}

func TestDeadlineDoesNotAllocate(t *testing.T) {
	begun := []Begun{{Taint: v1.Taint{Key: "a", Effect: v1.TaintEffectNoExecute}, Start: now}, {Taint: v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}, Start: now}}
	tolerations := []v1.Toleration{{Key: "a", Operator: v1.TolerationOpExists, TolerationSeconds: seconds(60)}, {Operator: v1.TolerationOpExists, TolerationSeconds: seconds(5)}}
	evicting := false
	counts := func(t *v1.Taint) bool { return evicting || !OwnNoExecute(t) }
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = PlausibleStart(&begun[0].Taint, now, now)
		_ = DeadlineOf(begun, now, tolerations, counts, true)
	}))
}

func TestDeadlineEqualsModel(t *testing.T) {
	program := make([]byte, 80)
	random := rand.New(rand.NewSource(1))
	came := map[string]int{}
	for i := 0; i < *operations; i++ {
		random.Read(program)
		switch d := requireDeadline(t, program); {
		case d.Forever:
			came["forever"]++
		case d.Toleration < 0:
			came["not tolerated"]++
		default:
			came["tolerated"]++
		}
	}
	require.Len(t, came, 3)
	t.Log(*operations, "deadlines:", came)
}

// For any list, the deadline is the model's.
func FuzzDeadline(f *testing.F) {
	f.Add([]byte{0, 1, 2, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3})
	f.Add([]byte{1, 7, 1, 3, 0, 0, 0, 0, 7, 1, 0, 0, 0, 6})
	f.Fuzz(func(t *testing.T, program []byte) { requireDeadline(t, program) })
}

// requireDeadline decodes a question from bytes and compares the answer with the model's.
func requireDeadline(t *testing.T, program []byte) Deadline {
	t.Helper()
	next := func() byte {
		if len(program) == 0 {
			return 0
		}
		b := program[0]
		program = program[1:]
		return b
	}
	numeric, spared, bound := next()%2 == 0, next(), instant(next())
	var begun []Begun
	starts := []byte{next(), next(), next(), next()}
	taints, tolerations := decode(program)
	for i := range taints {
		begun = append(begun, Begun{Taint: taints[i], Start: instant(starts[i])})
	}
	counts := func(t *v1.Taint) bool { return spared%2 == 0 || len(t.Key) != int(spared)%3 }
	ends := func(i int) (end *big.Int, used int) { return naiveEnd(begun[i], bound, tolerations, numeric) }

	got := DeadlineOf(begun, bound, tolerations, counts, numeric)
	first := -1
	for i := range begun {
		if end, _ := ends(i); end != nil && taints[i].Effect == v1.TaintEffectNoExecute && counts(&begun[i].Taint) {
			if least, _ := ends(max(first, 0)); first < 0 || end.Cmp(least) < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		require.Equal(t, Deadline{Forever: true, Toleration: -1}, got)
		return got
	}
	end, used := ends(first)
	switch { // calling require every time would cost more than all the rest
	case got.Forever, got.Taint != &begun[first].Taint, got.Toleration != used, nanoseconds(got.At).Cmp(end) != 0:
		require.Failf(t, "another deadline", "%+v, and the model says %d, taint %d, toleration %d", got, end, first, used)
	case used < 0 && got.For != 0, got.For < 0:
		require.Failf(t, "another time", "%+v", got)
	}
	return got
}

// instant returns one of a few, so that many are equal.
func instant(b byte) time.Time {
	if b == 255 {
		return time.Time{}
	}
	return now.Add(time.Duration(b%16) * 100 * time.Second)
}

// naiveEnd returns when the stay under one taint ends, and by which toleration; nil means never.
func naiveEnd(begun Begun, bound time.Time, tolerations []v1.Toleration, numeric bool) (end *big.Int, used int) {
	from := nanoseconds(begun.Start)
	if later := nanoseconds(bound); later.Cmp(from) > 0 {
		from = later
	}
	used = -1
	for i := range tolerations {
		if naiveTolerates(tolerations[i], begun.Taint, numeric) {
			used = i
			break
		}
	}
	if used < 0 {
		return from, used
	}
	s := tolerations[used].TolerationSeconds
	if s == nil {
		return nil, used
	}
	lasts := big.NewInt(0)
	if *s > 0 {
		lasts = big.NewInt(int64(saturated(big.NewInt(*s))))
	}
	return new(big.Int).Add(from, lasts), used
}

// nanoseconds returns an instant as a number that cannot overflow.
func nanoseconds(t time.Time) *big.Int {
	n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1e9))
	return n.Add(n, big.NewInt(int64(t.Nanosecond())))
}

func TestDeadlineOf(t *testing.T) {
	const evicts = v1.TaintEffectNoExecute
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	begun := []Begun{
		{Taint: v1.Taint{Key: "a", Effect: evicts}, Start: at(0)},
		{Taint: v1.Taint{Key: "soft", Effect: v1.TaintEffectNoSchedule}, Start: at(0)},
		{Taint: v1.Taint{Key: "b", Effect: evicts}, Start: at(100)},
	}
	tolerate := func(key string, s *int64) v1.Toleration {
		return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, TolerationSeconds: s}
	}
	a, b := &begun[0].Taint, &begun[2].Taint
	forever := Deadline{Forever: true, Toleration: -1}
	for name, row := range map[string]struct {
		begun       []Begun
		bound       time.Time
		tolerations []v1.Toleration
		counts      func(*v1.Taint) bool
		want        Deadline
	}{
		"no taints":                         {nil, at(0), []v1.Toleration{tolerate("", seconds(1))}, nil, forever},
		"none that evicts":                  {begun[1:2], at(0), nil, nil, forever},
		"not tolerated":                     {begun, at(0), nil, nil, Deadline{At: at(0), Taint: a, Toleration: -1}},
		"bound later":                       {begun, at(50), nil, nil, Deadline{At: at(50), Taint: a, Toleration: -1}},
		"tolerated for ever":                {begun, at(0), []v1.Toleration{tolerate("", nil)}, nil, forever},
		"each from its start":               {begun, at(0), []v1.Toleration{tolerate("", seconds(300))}, nil, Deadline{At: at(300), For: 300 * time.Second, Taint: a}},
		"from the binding":                  {begun, at(60), []v1.Toleration{tolerate("", seconds(300))}, nil, Deadline{At: at(360), For: 300 * time.Second, Taint: a}},
		"the later one is first":            {begun, at(0), []v1.Toleration{tolerate("a", seconds(300)), tolerate("b", seconds(10))}, nil, Deadline{At: at(110), For: 10 * time.Second, Taint: b, Toleration: 1}},
		"one for ever":                      {begun, at(0), []v1.Toleration{tolerate("a", nil), tolerate("b", seconds(10))}, nil, Deadline{At: at(110), For: 10 * time.Second, Taint: b, Toleration: 1}},
		"over before another begins":        {begun, at(0), []v1.Toleration{tolerate("a", seconds(60))}, nil, Deadline{At: at(60), For: time.Minute, Taint: a}},
		"of equal ends the first taint":     {begun, at(200), []v1.Toleration{tolerate("b", seconds(5)), tolerate("a", seconds(5))}, nil, Deadline{At: at(205), For: 5 * time.Second, Taint: a, Toleration: 1}},
		"the first toleration that matches": {begun[:1], at(0), []v1.Toleration{tolerate("", seconds(50)), tolerate("a", nil)}, nil, Deadline{At: at(50), For: 50 * time.Second, Taint: a}},
		"negative is at once":               {begun[:1], at(7), []v1.Toleration{tolerate("a", seconds(-9))}, nil, Deadline{At: at(7), Taint: a}},
		"only what counts":                  {begun, at(0), nil, func(t *v1.Taint) bool { return t.Key != "a" }, Deadline{At: at(100), Taint: b, Toleration: -1}},
		"nothing counts":                    {begun, at(0), nil, func(*v1.Taint) bool { return false }, forever},
		"292 years":                         {begun[:1], at(0), []v1.Toleration{tolerate("a", seconds(9e18))}, nil, Deadline{At: at(0).Add(math.MaxInt64), For: math.MaxInt64, Taint: a}},
	} {
		t.Run(name, func(t *testing.T) {
			got := DeadlineOf(row.begun, row.bound, row.tolerations, row.counts, false)
			require.Equal(t, row.want, got)
			require.Same(t, row.want.Taint, got.Taint, "it points into the list")
		})
	}
}

// The node was not ready from 0 s, and is unreachable since 1,000 s; and the other way round.
func TestDeadlineAfterASwap(t *testing.T) {
	at := func(s int64) time.Time { return now.Add(time.Duration(s) * time.Second) }
	for name, row := range map[string]struct {
		before, now int64 // negative: for ever
		bound, want int64 // want negative: never
		toleration  int
	}{
		"equal":                      {before: 300, now: 300, want: 300, toleration: 1},
		"equal, not over":            {before: 1800, now: 1800, want: 1800, toleration: 1},
		"shorter now":                {before: 1800, now: 300, want: 1300, toleration: 1},
		"shorter now, and soon over": {before: 1100, now: 300, want: 1100},
		"longer now":                 {before: 300, now: 1800, want: 1800, toleration: 1},
		"before for ever":            {before: -1, now: 300, want: 1300, toleration: 1},
		"now for ever":               {before: 300, now: -1, want: -1},
		"before not at all":          {now: 300, want: 300, toleration: 1},
		"now not at all":             {before: 1800, want: 1000, toleration: 1},
		"bound amid the outage":      {before: 1800, now: 300, bound: 400, want: 1300, toleration: 1},
		"bound after the swap":       {before: 1800, now: 300, bound: 1200, want: 1500, toleration: 1},
	} {
		t.Run(name, func(t *testing.T) {
			tolerates := func(key string, s int64) v1.Toleration {
				toleration := v1.Toleration{Key: key, Operator: v1.TolerationOpExists}
				if s >= 0 {
					toleration.TolerationSeconds = &s
				}
				return toleration
			}
			for _, keys := range [][2]string{{v1.TaintNodeNotReady, v1.TaintNodeUnreachable}, {v1.TaintNodeUnreachable, v1.TaintNodeNotReady}} {
				begun := []Begun{{Taint: v1.Taint{Key: keys[1], Effect: v1.TaintEffectNoExecute}, Start: at(1000), Outage: at(0)}}
				got := DeadlineOf(begun, at(row.bound), []v1.Toleration{tolerates(keys[0], row.before), tolerates(keys[1], row.now)}, nil, false)
				if row.want < 0 {
					require.True(t, got.Forever)
					continue
				}
				require.Equal(t, at(row.want), got.At)
				require.Equal(t, row.toleration, got.Toleration)
			}
		})
	}
}
