package budget

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// The cases of Karpenter's RFC "Node Repair Under Correlated Failure"
// (https://github.com/kubernetes-sigs/karpenter/pull/3273), with its values: one probe first, a replacement is proved once
// it has been healthy for five minutes, and a failed one costs one minute, then two, up to ten. Its failure domains are
// pool, zone and the policy that calls a node bad. The narrowest width of a node's domains counts, as here. It tries a
// node if any of its domains is out of cooldown; here the cooldown is that of the three together, so a fault of another
// kind or elsewhere is as free. Its width doubles with each proof; here it doubles when all of a round are proved.

// faulty is a node of that RFC: which policy calls it bad, if any.
type faulty struct{ pool, zone, policy string }

// repair is a replacement that takes the place of a node.
type repair struct {
	of    string
	since int // minutes ago
}

// repairs plays a controller that looks every minute.
type repairs struct {
	t       *testing.T
	clock   *clocktesting.FakeClock
	b       *Budget[string, faulty]
	nodes   map[string]faulty
	fresh   map[string]repair                             // replacements that are not judged, by name
	becomes func(replaced faulty) (is faulty, joins bool) // what a replacement is like a minute later
	done    int
	last    map[string]int // the minute in which a node was last repaired, by policy
	minute  int
}

func newRepairs(t *testing.T) *repairs {
	healthy := func(is faulty) (faulty, bool) { return faulty{is.pool, is.zone, ""}, true }
	r := &repairs{
		t: t, clock: clocktesting.NewFakeClock(clockBegin), nodes: map[string]faulty{}, fresh: map[string]repair{}, becomes: healthy, last: map[string]int{},
	}
	r.b = r.budget()
	return r
}

func (r *repairs) budget() *Budget[string, faulty] {
	width := Bound{Of: Unproven, Max: Count(1 << 20), Within: 15 * time.Minute, Unjudged: Failed, Quiet: time.Hour}
	of := func(per string) (b Bound) {
		b = width
		b.Name, b.Per = per, per
		return b
	}
	cooldown := of("all three")
	cooldown.Cooldown, cooldown.MaxCooldown = time.Minute, 10*time.Minute
	b, err := New(Config[string, faulty]{
		Dimensions: map[string]func(faulty) (string, bool){
			"pool": func(is faulty) (string, bool) { return is.pool, true }, "zone": func(is faulty) (string, bool) { return is.zone, true },
			"policy":    func(is faulty) (string, bool) { return is.policy, is.policy != "" },
			"all three": func(is faulty) (string, bool) { return fmt.Sprint(is), is.policy != "" },
		},
		Bad: func(is faulty) bool { return is.policy != "" }, Actionable: func(is faulty) bool { return is.policy != "" },
		Bounds: []Bound{of("pool"), of("zone"), of("policy"), cooldown, {Name: "budget", Per: "pool", Of: Acting, Max: Percent(10).Up()}},
		Clock:  r.clock,
	})
	require.NoError(r.t, err)
	return b
}

// set has so many nodes be like that.
func (r *repairs) set(name string, n int, is faulty) {
	for i := range n {
		r.nodes[fmt.Sprint(name, i)] = is
	}
}

// pass plays minutes.
func (r *repairs) pass(minutes int) {
	for range minutes {
		r.minute++
		r.clock.Step(time.Minute)
		for _, name := range slices.Sorted(maps.Keys(r.fresh)) {
			r.judge(name)
		}
		for name, is := range r.nodes {
			r.b.Set(name, is)
		}
		for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
			if is := r.nodes[name]; is.policy != "" {
				r.repair(name, is)
			}
		}
	}
}

// judge looks at a replacement.
func (r *repairs) judge(name string) {
	is := r.fresh[name]
	is.since++
	r.fresh[name] = is
	node, joined := r.nodes[name]
	switch {
	case !joined && is.since < 15, joined && node.policy == "" && is.since < 5:
		return
	case !joined:
		require.False(r.t, r.b.Judge(is.of, Failed), "its time has passed")
	case node.policy != "":
		require.True(r.t, r.b.Judge(is.of, Failed))
	default:
		require.True(r.t, r.b.Judge(is.of, Proved))
	}
	require.True(r.t, r.b.End(is.of))
	if delete(r.fresh, name); joined {
		require.True(r.t, r.b.Remove(is.of))
		delete(r.nodes, is.of)
	}
}

// repair has a replacement come for a node, which stays until that is judged, if that is permitted.
func (r *repairs) repair(name string, is faulty) {
	reservation, err := r.b.Reserve(name)
	if err != nil {
		return
	}
	require.True(r.t, reservation.Commit())
	r.done, r.last[is.policy] = r.done+1, r.minute
	next := fmt.Sprint("r", r.done)
	r.fresh[next] = repair{of: name}
	if node, joins := r.becomes(is); joins {
		r.nodes[next] = node
	}
}

func (r *repairs) bad() (n int) {
	for _, is := range r.nodes {
		if is.policy != "" {
			n++
		}
	}
	return n
}

func (r *repairs) width(bound, group string) int64 {
	st, ok := r.b.Status(bound, group)
	require.True(r.t, ok)
	return st.Max
}

var gpu = faulty{"gpu", "a", "accelerator"}

// A false positive flags a pool, and replacements as well. One is tried, and then ever fewer. A node that is bad for another
// reason is repaired as soon as no probe is under way.
func TestFloodOfFalsePositives(t *testing.T) {
	r := newRepairs(t)
	r.becomes = func(is faulty) (faulty, bool) {
		if is.policy != gpu.policy {
			is.policy = ""
		}
		return is, true
	}
	r.set("n", 100, gpu)
	r.pass(1)
	require.Equal(t, 1, r.done)
	r.pass(60)
	require.InDelta(t, 9, r.done, 1, "after 1, 2, 4, 8 and then 10 minutes each")
	flood := r.done
	r.set("m", 1, faulty{"gpu", "a", "disk"})
	r.pass(2)
	require.Positive(t, r.last["disk"])
	r.pass(60)
	require.InDelta(t, flood+7, r.done, 1, "ever slower, and never none")
}

// A bad image: the pool backs off. Once the image is rolled back, it is repaired at a growing pace without anybody's help.
func TestBadImage(t *testing.T) {
	r := newRepairs(t)
	r.becomes = func(is faulty) (faulty, bool) { return is, true }
	r.set("n", 40, gpu)
	r.set("well", 360, faulty{"gpu", "a", ""})
	r.pass(120)
	require.Less(t, r.done, 18)
	require.EqualValues(t, 1, r.width("pool", "gpu"))
	r.becomes = newRepairs(t).becomes
	r.pass(60)
	require.Zero(t, r.bad())
	require.Greater(t, r.width("pool", "gpu"), int64(30))
}

// One bad node of four is repaired at once, although it is all that its policy calls bad.
func TestSmallPool(t *testing.T) {
	r := newRepairs(t)
	r.set("well", 3, faulty{"gpu", "a", ""})
	r.set("n", 1, gpu)
	r.pass(1)
	require.Equal(t, 1, r.done)
	r.pass(5)
	require.Zero(t, r.bad())
}

// A zone is cut off, and no replacement comes up there. Few are tried. A node in another zone is repaired at once, and when
// the zone is back nothing is repaired.
func TestZoneIsCutOff(t *testing.T) {
	r := newRepairs(t)
	lost := faulty{"gpu", "a", "unreachable"}
	r.becomes = func(is faulty) (faulty, bool) { return faulty{is.pool, is.zone, ""}, is.zone != "a" }
	r.set("n", 100, lost)
	r.set("m", 100, faulty{"web", "b", ""})
	r.pass(60)
	require.LessOrEqual(t, r.done, 4, "each takes its time to fail, and then the pause")
	r.set("m", 1, faulty{"web", "b", "disk"})
	r.pass(1)
	require.Positive(t, r.last["disk"])
	done := r.done
	for name, is := range r.nodes {
		r.nodes[name] = faulty{is.pool, is.zone, ""}
	}
	r.pass(60)
	require.Equal(t, done, r.done)
}

// 500 of 10,000 nodes are broken, and replacing them helps: in about an hour all are, up to the budget at a time.
func TestLargeFault(t *testing.T) {
	r := newRepairs(t)
	r.set("n", 500, gpu)
	r.set("well", 9500, faulty{"gpu", "a", ""})
	rounds := []int{}
	for r.bad() > 0 || r.minute == 0 {
		before := r.done
		if r.pass(1); r.done > before {
			rounds = append(rounds, r.done-before)
		}
		require.Less(t, r.minute, 60)
	}
	require.Equal(t, []int{1, 2, 4, 8, 16, 32, 64, 128, 245}, rounds)
}

// What was proved long ago says nothing of what fails now. A controller that has lost its memory begins with one, and one
// that has kept it goes on.
func TestMemoryOfTrials(t *testing.T) {
	r := newRepairs(t)
	r.set("well", 100, faulty{"gpu", "a", ""})
	r.set("n", 7, gpu)
	r.pass(20)
	require.EqualValues(t, 8, r.width("pool", "gpu"))
	text, err := json.Marshal(r.b.Snapshot())
	require.NoError(t, err)
	var s Snapshot[string]
	require.NoError(t, json.Unmarshal(text, &s))
	r.b = r.budget()
	require.NoError(t, r.b.Restore(s))
	r.pass(1)
	require.EqualValues(t, 8, r.width("pool", "gpu"))
	r.pass(60)
	require.EqualValues(t, 1, r.width("pool", "gpu"), "an hour without any repair")
	r.b = r.budget()
	r.set("n", 7, gpu)
	r.pass(1)
	require.Equal(t, 8, r.done, "one")
}
