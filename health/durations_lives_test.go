package health

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/internal/clockcases"
)

// A tracker that is stopped, encoded to JSON and restored on another clock answers like one whose clock stood still in
// between.
func TestLivesOfDurations(t *testing.T) {
	for seed := range lives() {
		r := rand.New(rand.NewSource(seed))
		clk := clockcases.New(seed%2 == 0)
		d, err := NewDurations[string](DurationsConfig{Rules: modelRules, Clock: clk})
		require.NoError(t, err)
		one := &observedLife{d: d, clk: clk, last: map[string][]v1.NodeCondition{}}
		for range r.Intn(lifeUntil) {
			one.operation(r)
		}
		text, err := json.Marshal(d.Snapshot())
		require.NoError(t, err)
		other := otherClock(r, seed%2 == 0)
		restored, err := NewDurations[string](DurationsConfig{Rules: modelRules, Clock: other})
		require.NoError(t, err)
		var snapshot DurationsSnapshot[string]
		require.NoError(t, json.Unmarshal(text, &snapshot))
		require.NoError(t, restored.Restore(snapshot))
		two := &observedLife{d: restored, clk: other, last: map[string][]v1.NodeCondition{}, claims: one.claims}
		for key, conditions := range one.last {
			two.last[key] = slices.Clone(conditions)
		}
		both := r.Int63()
		first, second := rand.New(rand.NewSource(both)), rand.New(rand.NewSource(both))
		for n := range r.Intn(lifeUntil) {
			want, got := one.operation(first), two.operation(second)
			if want != got {
				t.Fatalf("life %d, %d after %s:\n%s\nexpected\n%s", seed, n, text, got, want)
			}
		}
	}
}

// observedLife observes objects with claims that are all different, except when an object is observed again.
type observedLife struct {
	d      *Durations[string]
	clk    *clockcases.Clock
	last   map[string][]v1.NodeCondition
	claims int
}

func (l *observedLife) operation(r *rand.Rand) (answer string) {
	key, n := string(rune('a'+r.Intn(6))), r.Intn(20)
	switch r.Intn(8) {
	case 0, 1:
		l.last[key] = nil
		for i, kind := range modelKinds {
			if status := modelStatuses[r.Intn(len(modelStatuses))]; status != absent {
				l.claims++
				claim := l.clk.Wall().Add(time.Duration(3-n-i)*time.Second + time.Duration(l.claims))
				l.last[key] = append(l.last[key], v1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.Time{Time: claim}})
			}
		}
		answer = fmt.Sprint("Observe ", l.d.Observe(key, l.last[key]))
	case 2:
		if conditions, ok := l.last[key]; ok {
			answer = fmt.Sprint("again ", l.d.Observe(key, conditions))
		}
	case 3, 4:
		l.clk.Pass(time.Duration(n) * time.Second)
	case 5:
		answer = fmt.Sprint("Forget ", l.d.Forget(key))
		delete(l.last, key)
	case 6:
		all := expired(l.d)
		slices.Sort(all) // the order within one instant is not defined
		answer = fmt.Sprint(all)
	case 7:
		l.d.Next()
		l.clk.Set(time.Duration(n-10) * time.Hour)
	}
	next, ok := l.d.Next()
	answer += fmt.Sprint(l.d.Len(), ok)
	if ok {
		answer += told(l.clk, next)
	}
	all, ok := l.d.Get(key)
	for _, one := range all {
		answer += fmt.Sprint(one.Rule, told(l.clk, one.Since), one.Left, one.HandedOut)
	}
	return answer + fmt.Sprint(ok)
}
