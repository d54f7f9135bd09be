package taints

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The model of a node's taints is a map; the list adds nothing but an order.
type pair struct {
	key    string
	effect v1.TaintEffect
}

type content struct {
	value string
	added string // TimeAdded as text
}

func modelOf(taints []v1.Taint) map[pair]content {
	m := map[pair]content{}
	for _, t := range taints {
		c := content{value: t.Value}
		if t.TimeAdded != nil {
			c.added = t.TimeAdded.UTC().String()
		}
		m[pair{t.Key, t.Effect}] = c
	}
	return m
}

// step is what Diff and Apply should make of the model.
func step(m map[pair]content, want []v1.Taint, managed func(*v1.Taint) bool, now time.Time) map[pair]content {
	outage := ""
	for p, c := range m {
		if OwnNoExecute(&v1.Taint{Key: p.key, Effect: p.effect}) && c.added != "" && (outage == "" || c.added < outage) {
			outage = c.added
		}
	}
	next := map[pair]content{}
	for p, c := range m {
		if !managed(&v1.Taint{Key: p.key, Effect: p.effect}) {
			next[p] = c
		}
	}
	for _, t := range want {
		p := pair{t.Key, t.Effect}
		c := content{value: t.Value}
		switch was, ok := m[p]; {
		case ok && was.value == t.Value:
			c.added = was.added
		case t.Effect != v1.TaintEffectNoExecute:
		case OwnNoExecute(&t) && outage != "":
			c.added = outage
		default:
			c.added = now.Truncate(time.Second).UTC().String()
		}
		next[p] = c
	}
	return next
}

func randomTaints(random *rand.Rand, keep func(*v1.Taint) bool) (taints []v1.Taint) {
	seen := map[pair]bool{}
	for n := random.Intn(6); n > 0; n-- {
		t := v1.Taint{
			Key:    []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable, v1.TaintNodeDiskPressure, "a", "b"}[random.Intn(5)],
			Value:  []string{"", "", "x"}[random.Intn(3)],
			Effect: []v1.TaintEffect{v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule}[random.Intn(2)],
		}
		if p := (pair{t.Key, t.Effect}); !seen[p] && keep(&t) {
			seen[p] = true
			taints = append(taints, t)
		}
	}
	return taints
}

func TestDiffAndApplyEqualModel(t *testing.T) {
	anything := func(*v1.Taint) bool { return true }
	managers := []func(*v1.Taint) bool{OwnNoExecute, OwnNoSchedule, anything, func(t *v1.Taint) bool { return t.Key == "a" }}
	for seed := int64(0); seed < 40; seed++ {
		random := rand.New(rand.NewSource(seed))
		clock := now
		have := randomTaints(random, anything)
		for i := 0; i < 50; i++ {
			what := fmt.Sprintf("seed %d, step %d", seed, i)
			clock = clock.Add(time.Duration(random.Intn(5000)) * time.Millisecond)
			managed := managers[random.Intn(len(managers))]
			want := randomTaints(random, managed)
			change := Diff(have, want, managed)
			got := change.Apply(have, clock)

			require.Equal(t, step(modelOf(have), want, managed, clock), modelOf(got), what)
			require.Len(t, modelOf(got), len(got), "%s: each pair once", what)
			require.True(t, Diff(got, want, managed).Empty(), "%s: once is enough", what)
			require.Equal(t, got, change.Apply(got, clock.Add(time.Hour)), "%s: twice is the same", what)
			if change.Empty() {
				require.Equal(t, append([]v1.Taint{}, have...), got, what)
			}
			requireOrder(t, have, got, what)
			have = got
		}
	}
}

// requireOrder checks that what is in both lists comes first and in the same order.
func requireOrder(t *testing.T, have, got []v1.Taint, what string) {
	t.Helper()
	at, fresh := -1, false
	for i := range got {
		j := find(have, &got[i])
		if j < 0 {
			fresh = true
			continue
		}
		require.False(t, fresh, what)
		require.Greater(t, j, at, what)
		at = j
	}
}

func TestTolerateEqualsReference(t *testing.T) {
	program := make([]byte, 200)
	forever, finite, none := 0, 0, 0
	for seed := int64(0); seed < 4000; seed++ {
		rand.New(rand.NewSource(seed)).Read(program)
		taints, tolerations := decode(program)
		switch stay := requireReference(t, taints, tolerations, seed%2 == 0); {
		case stay.Forever:
			forever++
		case stay.Toleration < 0:
			none++
		default:
			finite++
		}
	}
	require.True(t, forever > 100 && finite > 100 && none > 100, "all came up: %d %d %d", forever, finite, none)
}

// decode reads taints and tolerations off bytes, from an alphabet small enough to match often.
func decode(program []byte) (taints []v1.Taint, tolerations []v1.Toleration) {
	next := func(n int) int {
		if len(program) == 0 {
			return 0
		}
		b := int(program[0])
		program = program[1:]
		return b % n
	}
	keys := []string{"k", "l", "kl", "ll", ""}
	values := []string{"", "1", "2", "10", "-3", "x", "9223372036854775808"}
	effects := []v1.TaintEffect{v1.TaintEffectNoExecute, v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, "NoSuch", ""}
	operators := []v1.TolerationOperator{"Exists", "Exists", "Equal", "", "Lt", "Gt", "In"}
	times := []*int64{nil, seconds(0), seconds(-5), seconds(1), seconds(300), seconds(1 << 62), seconds(9_223_372_036), seconds(9_223_372_037)}
	for n := next(4); n > 0; n-- {
		t := v1.Taint{Key: keys[next(len(keys))], Value: values[next(len(values))], Effect: effects[next(len(effects))]}
		if next(2) == 0 {
			t.TimeAdded = &metav1.Time{Time: now}
		}
		taints = append(taints, t)
	}
	for n := next(6); n > 0; n-- {
		tolerations = append(tolerations, v1.Toleration{Key: keys[next(len(keys))], Operator: operators[next(len(operators))], Value: values[next(len(values))],
			Effect: effects[next(len(effects))], TolerationSeconds: times[next(len(times))]})
	}
	return taints, tolerations
}

// requireReference compares every question about the taints with the reference.
func requireReference(t *testing.T, taints []v1.Taint, tolerations []v1.Toleration, numeric bool) Deadline {
	t.Helper()
	for i := range taints {
		first := -1
		for j := range tolerations {
			matches := naiveTolerates(tolerations[j], taints[i], numeric)
			require.Equal(t, matches, Tolerates(&tolerations[j], &taints[i], numeric), "%v by %v", taints[i], tolerations[j])
			if matches && first < 0 {
				first = j
			}
		}
		require.Equal(t, first, using(&taints[i], tolerations, numeric))
	}
	require.Equal(t, Deadline{Forever: true, Toleration: -1}, Tolerate(nil, tolerations, numeric), "no taints")
	first, _ := naiveStay(withEffect(taints, v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule), tolerations, numeric)
	untolerated, found := Untolerated(taints, tolerations, numeric)
	require.Equal(t, first != nil, found)
	if first != nil {
		require.Equal(t, *first, untolerated)
	}
	stay := Tolerate(taints, tolerations, numeric)
	first, least := naiveStay(withEffect(taints, v1.TaintEffectNoExecute), tolerations, numeric)
	require.Equal(t, least == nil, stay.Forever)
	require.True(t, stay.At.IsZero())
	switch {
	case least == nil:
		require.Equal(t, Deadline{Forever: true, Toleration: -1}, stay)
	case first != nil:
		i := slices.IndexFunc(taints, func(t v1.Taint) bool {
			return t.Effect == v1.TaintEffectNoExecute && using(&t, tolerations, numeric) < 0
		})
		require.Same(t, &taints[i], stay.Taint, "it points into the list")
		require.Equal(t, -1, stay.Toleration)
		require.Zero(t, stay.For)
	default:
		require.Equal(t, saturated(least), stay.For)
		require.Equal(t, stay.Toleration, using(stay.Taint, tolerations, numeric), "the reason is the one used")
		d, forever := lastsFor(&tolerations[stay.Toleration])
		require.Equal(t, stay.For, d)
		require.False(t, forever)
		for i := 0; &taints[i] != stay.Taint; i++ {
			if taints[i].Effect == v1.TaintEffectNoExecute {
				d, forever := lastsFor(&tolerations[using(&taints[i], tolerations, numeric)])
				require.True(t, forever || d > stay.For, "of equal ones the first taint")
			}
		}
	}
	return stay
}

// TestOnlyThePodsOwnListIsRight: Tolerate and DeadlineOf agree on the pod's own tolerations. On the list of those used, as
// upstream's GetMatchingTolerations returns it, another one may come first.
func TestOnlyThePodsOwnListIsRight(t *testing.T) {
	program := make([]byte, 200)
	wrong := 0
	for seed := int64(0); seed < 4000; seed++ {
		rand.New(rand.NewSource(seed)).Read(program)
		taints, tolerations := decode(program)
		var begun []Begun
		var used []v1.Toleration
		for i := range taints {
			begun = append(begun, Begun{Taint: taints[i], Start: now})
			if j := using(&taints[i], tolerations, false); j >= 0 && taints[i].Effect == v1.TaintEffectNoExecute {
				used = append(used, tolerations[j])
			}
		}
		stay, deadline := Tolerate(taints, tolerations, false), DeadlineOf(begun, now, tolerations, nil, false)
		require.Equal(t, stay.Forever, deadline.Forever)
		require.Equal(t, stay.For, deadline.For)
		if other := DeadlineOf(begun, now, used, nil, false); other.Forever != deadline.Forever || !other.At.Equal(deadline.At) {
			wrong++
		}
	}
	require.Positive(t, wrong, "the two lists are not the same")
	t.Log(wrong, "of 4,000 wrong on the list of those used")
}
