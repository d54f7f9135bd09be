package health

import (
	"encoding/json"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/internal/clockcases"
)

var modelRules = []Rule{
	{"Ready", v1.ConditionFalse, 20 * time.Second}, {"Ready", v1.ConditionFalse, 8 * time.Second}, {"Ready", v1.ConditionFalse, 9 * time.Second},
	{"Ready", v1.ConditionUnknown, 12 * time.Second}, {"Ready", v1.ConditionTrue, 5 * time.Second},
	{"Broken", v1.ConditionTrue, 10 * time.Second}, {"Broken", v1.ConditionUnknown, 25 * time.Second},
}

// absent is the status of a condition that is not there.
const absent v1.ConditionStatus = "absent"

var (
	modelKinds    = []v1.NodeConditionType{"Ready", "Broken", "Else"}
	modelStatuses = []v1.ConditionStatus{absent, v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown, "Maybe"}
)

// modelCondition is what the model knows about a condition; a missing one is absent.
type modelCondition struct {
	status v1.ConditionStatus
	claim  time.Time
	start  time.Duration
	told   map[Rule]bool
}

type modelObject struct {
	seen       time.Duration
	conditions map[v1.NodeConditionType]*modelCondition
}

// durationsLife plays operations on Durations and on the model.
type durationsLife struct {
	t       testing.TB
	d       *Durations[string]
	clk     *clockcases.Clock
	real    bool
	elapsed time.Duration
	objects map[string]*modelObject
}

func newDurationsLife(t testing.TB, monotonic bool) *durationsLife {
	l := &durationsLife{t: t, objects: map[string]*modelObject{}}
	l.begin(monotonic)
	return l
}

func (l *durationsLife) begin(monotonic bool) {
	l.real, l.clk = monotonic, clockcases.New(monotonic)
	var err error
	l.d, err = NewDurations[string](DurationsConfig{Rules: modelRules, Clock: l.clk})
	require.NoError(l.t, err)
	l.d.Next()
}

func (l *durationsLife) set(d time.Duration) {
	l.d.Next()
	l.clk.Set(d)
	if !l.real && d > 0 {
		l.elapsed += d
	}
	l.d.Next()
}

// start returns when a status began that is observed now with that claim, as the clock shows it.
func (l *durationsLife) start(claim time.Time) time.Duration {
	if ago := l.clk.Wall().Sub(claim); !claim.IsZero() && ago > 0 {
		return l.elapsed - ago
	}
	return l.elapsed
}

func (l *durationsLife) observe(key string, conditions []v1.NodeCondition) {
	object := l.objects[key]
	isNew := object == nil
	if isNew {
		object = &modelObject{conditions: map[v1.NodeConditionType]*modelCondition{}}
		l.objects[key] = object
	}
	var ended []Rule
	for _, kind := range modelKinds {
		now := &modelCondition{status: absent, told: map[Rule]bool{}}
		for _, c := range conditions {
			if c.Type == kind {
				now.status, now.claim = c.Status, c.LastTransitionTime.Time
			}
		}
		was := object.conditions[kind]
		if !isNew && now.status == was.status && (now.claim.IsZero() || now.claim.Equal(was.claim)) {
			continue
		}
		now.start = l.start(now.claim)
		if !isNew {
			now.start = max(now.start, object.seen)
			for rule := range was.told {
				ended = append(ended, rule)
			}
		}
		object.conditions[kind] = now
	}
	object.seen = l.elapsed
	require.ElementsMatch(l.t, ended, l.d.Observe(key, conditions))
}

// each visits every rule whose status a key has.
func (l *durationsLife) each(visit func(key string, rule Rule, c *modelCondition)) {
	for key, object := range l.objects {
		for _, rule := range modelRules {
			if c := object.conditions[rule.Type]; c.status == rule.Status {
				visit(key, rule, c)
			}
		}
	}
}

func (l *durationsLife) expired(most int) {
	last := time.Duration(-1 << 63)
	for key, rule := range l.d.Expired() {
		object := l.objects[key]
		require.NotNil(l.t, object)
		c := object.conditions[rule.Type]
		require.Equal(l.t, c.status, rule.Status)
		require.False(l.t, c.told[rule], "each once")
		require.LessOrEqual(l.t, c.start+rule.For, l.elapsed)
		require.LessOrEqual(l.t, last, c.start+rule.For, "in the order in which they came true")
		last, c.told[rule] = c.start+rule.For, true
		if most--; most == 0 {
			return
		}
	}
	l.each(func(key string, rule Rule, c *modelCondition) {
		require.True(l.t, c.told[rule] || c.start+rule.For > l.elapsed, "%s %v", key, rule)
	})
}

// restore continues from a snapshot on another clock, which shows the same time so that claims mean the same.
func (l *durationsLife) restore(monotonic bool) {
	wall := l.clk.Wall()
	snapshot := l.d.Snapshot()
	require.True(l.t, slices.IsSortedFunc(snapshot.Keys, func(a, b ConditionsSnapshot[string]) int { return int(b.Seen - a.Seen) }))
	text, err := json.Marshal(snapshot)
	require.NoError(l.t, err)
	l.begin(monotonic)
	l.clk.Set(wall.Sub(l.clk.Wall()))
	var read DurationsSnapshot[string]
	require.NoError(l.t, json.Unmarshal(text, &read))
	require.NoError(l.t, l.d.Restore(read))
}

// check compares the answers of every method.
func (l *durationsLife) check() {
	now := l.clk.Now()
	next, any := time.Duration(0), false
	want := map[string][]Lasting{}
	l.each(func(key string, rule Rule, c *modelCondition) {
		want[key] = append(want[key], Lasting{Rule: rule, Since: now.Add(c.start - l.elapsed), Left: max(0, c.start+rule.For-l.elapsed), HandedOut: c.told[rule]})
		if !c.told[rule] && (!any || c.start+rule.For < next) {
			next, any = c.start+rule.For, true
		}
	})
	got, ok := l.d.Next()
	if ok != any || any && got.Sub(now) != next-l.elapsed || l.d.Len() != len(l.objects) {
		l.t.Fatalf("Next %v %v, Len %d at %v; expected %v %v of %d", got, ok, l.d.Len(), now, next-l.elapsed, any, len(l.objects))
	}
	for _, key := range modelKeys {
		all, known := l.d.Get(key)
		same := slices.EqualFunc(all, want[key], func(a, b Lasting) bool {
			return a.Rule == b.Rule && a.Left == b.Left && a.HandedOut == b.HandedOut && a.Since.Equal(b.Since)
		})
		if !same || known != (l.objects[key] != nil) {
			l.t.Fatalf("%s at %v: %+v %v, expected %+v", key, now, all, known, want[key])
		}
	}
}

// claim returns one of a few instants around now, or the last one.
func (l *durationsLife) claim(key string, kind v1.NodeConditionType, n int) metav1.Time {
	if object := l.objects[key]; object != nil && n%3 == 0 {
		return metav1.Time{Time: object.conditions[kind].claim}
	}
	if n%7 == 0 {
		return metav1.Time{}
	}
	return metav1.Time{Time: l.clk.Wall().Add(time.Duration(3-n%16) * time.Second)}
}

// step plays the operation that three bytes encode.
func (l *durationsLife) step(op, arg, more byte) {
	key, n := modelKeys[int(arg)%len(modelKeys)], int(arg)/len(modelKeys)
	switch op % 16 {
	case 0, 1, 2, 3, 4, 5:
		var conditions []v1.NodeCondition
		for i, kind := range modelKinds {
			status := modelStatuses[int(more)/(1+4*i)%len(modelStatuses)]
			if object := l.objects[key]; object != nil && n%2 == 0 {
				status = object.conditions[kind].status
			}
			if status != absent {
				conditions = append(conditions, v1.NodeCondition{Type: kind, Status: status, LastTransitionTime: l.claim(key, kind, int(more)+i)})
			}
		}
		l.observe(key, conditions)
	case 6, 7, 8, 9:
		d := time.Duration(n) * time.Second / 4
		l.clk.Pass(d)
		l.elapsed += d
	case 10:
		l.set([]time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}[n%4])
	case 11:
		require.Equal(l.t, l.objects[key] != nil, l.d.Forget(key))
		delete(l.objects, key)
	case 12, 13:
		l.expired(-1)
	case 14:
		l.expired(1)
	case 15:
		if n%8 == 0 {
			l.restore(n%16 == 0)
		}
	}
	l.check()
}

func TestDurationsAgainstAModel(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for left := *operationsFlag; left > 0; left -= 1000 {
		l := newDurationsLife(t, left%2000 == 0)
		for range 1000 {
			l.step(byte(r.Intn(256)), byte(r.Intn(256)), byte(r.Intn(256)))
		}
	}
}

func FuzzDurationsOperations(f *testing.F) {
	f.Add([]byte{0, 0, 2, 9, 121, 0, 12, 0, 0, 0, 0, 2, 15, 0, 0, 9, 121, 0, 12, 0, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		l := newDurationsLife(t, len(ops)%2 == 0)
		for n := 0; n+2 < min(len(ops), 1600); n += 3 {
			l.step(ops[n], ops[n+1], ops[n+2])
		}
	})
}
