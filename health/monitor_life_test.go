package health

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/internal/clockcases"
)

// monitorLife plays operations on a Monitor and on the model.
type monitorLife struct {
	t     testing.TB
	r     *rand.Rand
	m     *Monitor
	model *monitorModel
	clk   *clockcases.Clock
	real  bool             // the clock has monotonic readings
	doubt map[string]doubt // the last of each node
}

func newMonitorLife(t testing.TB, seed int64) *monitorLife {
	l := &monitorLife{t: t, r: rand.New(rand.NewSource(seed))}
	config := Config{NodeMonitorGracePeriod: time.Duration(20+l.r.Intn(30)) * time.Second, NodeStartupGracePeriod: time.Duration(20+l.r.Intn(60)) * time.Second}
	if seed%2 == 0 {
		config.NodeMonitorPeriod = time.Duration(1+l.r.Intn(9)) * time.Second
	}
	config.Confirm = seed%3 > 0
	l.model = newMonitorModel(config)
	l.begin()
	return l
}

// begin makes an empty monitor on a new clock.
func (l *monitorLife) begin() {
	l.real, l.doubt = l.r.Intn(2) == 0, map[string]doubt{}
	l.clk = clockcases.New(l.real)
	config := l.model.config
	config.Clock = l.clk
	var err error
	l.m, err = NewMonitor(config)
	require.NoError(l.t, err)
	if l.model.elapsed == 0 {
		l.m.Next()
	}
}

func (l *monitorLife) name() string { return string(rune('a' + l.r.Intn(6))) }

// stamp returns one of a few times, in any order.
func (l *monitorLife) stamp() time.Time {
	return clockcases.Start.Add(time.Duration(l.r.Intn(30)) * time.Second)
}

// version returns none, or one of a few versions that mostly rise.
func (l *monitorLife) version() string {
	if l.r.Intn(4) == 0 {
		return ""
	}
	return fmt.Sprint(1 + int(l.model.elapsed/time.Minute)%20 + l.r.Intn(5))
}

func (l *monitorLife) report() report {
	ready := []v1.ConditionStatus{"", v1.ConditionTrue, v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}
	r := report{
		Node: l.name(), UID: types.UID([]string{"", "1", "1", "1", "2"}[l.r.Intn(5)]), ResourceVersion: l.version(),
		Ready: ready[l.r.Intn(len(ready))], Heartbeat: l.stamp(), Transition: l.stamp(),
	}
	if l.r.Intn(4) > 0 {
		r.Created = l.clk.Wall().Add(time.Duration(10-l.r.Intn(100)) * time.Second)
	}
	return r
}

func (l *monitorLife) set(d time.Duration) {
	l.m.Next()
	l.model.call()
	l.clk.Set(d)
	if !l.real && d > 0 {
		l.model.elapsed += d
	}
	l.m.Next()
	l.model.call()
}

func (l *monitorLife) wait(d time.Duration) {
	l.clk.Pass(d)
	l.model.elapsed += d
}

func (l *monitorLife) pass() {
	var told []string
	verdicts := l.m.Pass()
	for _, v := range verdicts {
		told = append(told, toldOf(v))
	}
	require.True(l.t, slices.IsSortedFunc(verdicts, func(a, b Verdict) int { return strings.Compare(a.Node, b.Node) }))
	require.Equal(l.t, l.model.pass(), told)
	for _, v := range verdicts {
		if n := l.model.nodes[v.Node]; v.Suspect {
			l.doubt[v.Node] = doubt{v, n.uid, n.beat, l.model.rounds}
		}
	}
}

func toldOf(v Verdict) string {
	return strings.Join([]string{v.Node, string(v.Observed), string(v.Ready), map[bool]string{true: "expired"}[v.Expired], map[bool]string{true: "suspect"}[v.Suspect]}, " ")
}

// answer confirms the last silence of a node, or says that it lives.
func (l *monitorLife) answer() {
	d, ok := l.doubt[l.name()]
	switch {
	case !ok:
	case l.r.Intn(3) == 0:
		require.Equal(l.t, l.model.revive(d), l.m.Revive(d.verdict))
	default:
		n, want := l.model.confirm(d)
		v, ok := l.m.Confirm(d.verdict)
		require.Equal(l.t, want, ok)
		if ok {
			require.Equal(l.t, n.told(), toldOf(v))
		}
	}
}

func (l *monitorLife) step() {
	switch l.r.Intn(26) {
	case 0, 1, 2, 3:
		r := l.report()
		want := l.model.observe(r, l.clk.Wall())
		require.Equal(l.t, want, l.m.seen(r))
	case 4, 5, 6, 7, 8:
		name, stamp := l.name(), l.stamp()
		require.Equal(l.t, l.model.lease(name, stamp.UnixNano(), 0), l.m.ObserveRenewal(name, stamp))
	case 9, 10, 11:
		name, stamp, version := l.name(), l.stamp(), l.version()
		require.Equal(l.t, l.model.lease(name, stamp.UnixNano(), parseVersion(version)), l.m.ObserveLease(name, stamp, version))
	case 12:
		name, uid := l.name(), []string{"", "1", "2"}[l.r.Intn(3)]
		n := l.model.nodes[name]
		known := n != nil && (uid == "" || n.uid == "" || uid == n.uid)
		require.Equal(l.t, known, l.m.Forget(name, types.UID(uid)))
		if known {
			delete(l.model.nodes, name)
		}
	case 13, 14, 15:
		if next, ok := l.m.Next(); ok {
			l.model.call()
			l.wait(max(0, next.Sub(l.clk.Now())) + time.Duration(l.r.Intn(3))*time.Millisecond)
			l.pass()
		}
	case 16, 17:
		l.wait(time.Duration(l.r.Intn(10)) * time.Second)
	case 18:
		l.pass()
	case 19:
		switch l.r.Intn(7) {
		case 0:
			l.wait(time.Duration(1+l.r.Intn(3600)) * time.Second)
		case 1:
			l.set([]time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}[l.r.Intn(4)])
		case 2:
			l.m.Restart()
			l.model.restart()
		}
	case 20:
		if reason := string(rune('x' + l.r.Intn(2))); l.r.Intn(4) == 0 {
			l.m.Freeze(reason)
			if !slices.Contains(l.model.frozen, reason) {
				l.model.frozen = append(l.model.frozen, reason)
			}
		} else {
			require.Equal(l.t, l.model.thaw(reason), l.m.Thaw(reason))
		}
	case 21, 22, 23:
		l.answer()
	default:
		name := l.name()
		require.Equal(l.t, l.model.settled(name), l.m.Settled(name))
	}
	l.check()
}

// check compares the answers of every method.
func (l *monitorLife) check() {
	now := l.clk.Now()
	next, ok := l.m.Next() // reads the clock
	at := l.model.call()
	instant := func(listened time.Duration) time.Duration {
		return l.model.from + listened - l.model.heard - l.model.elapsed
	}
	want, some := l.model.next(at)
	if ok != some || some && next.Sub(now) != instant(want) {
		l.t.Fatalf("Next %v %v at %v, expected %v %v", next, ok, now, instant(want), some)
	}
	for name, n := range l.model.nodes {
		v, known := l.m.Verdict(name)
		ready, grace := n.judged, l.model.config.NodeMonitorGracePeriod
		if n.observed == "" {
			grace = l.model.config.NodeStartupGracePeriod
		}
		if known != n.known || known && (v.Node != name || string(v.UID) != n.uid || v.Ready != ready || v.Observed != n.observed || v.Expired != n.expired || v.Suspect != n.suspect() ||
			v.LastBeat.Sub(now) != instant(n.beat) || v.Since.Sub(now) != instant(n.since) || v.Grace != grace) {
			l.t.Fatalf("at %v %+v, expected %+v", now, v, n)
		}
		settles, ok := l.m.Settles(name)
		if want, some := l.model.settles(n); ok != some || ok && settles.Sub(now) != instant(want) {
			l.t.Fatalf("%s settles at %v %v, expected %v", name, settles, ok, n)
		}
	}
	if l.m.Len() != len(l.model.nodes) || l.m.Blind() != l.model.blind || !slices.Equal(l.m.frozen, l.model.frozen) {
		l.t.Fatalf("Len %d, Blind %d, Frozen %v; expected %+v", l.m.Len(), l.m.Blind(), l.m.frozen, l.model)
	}
}

func TestMonitorAgainstAModel(t *testing.T) {
	for seed, left := int64(0), *operationsFlag; left > 0; seed, left = seed+1, left-500 {
		l := newMonitorLife(t, seed)
		for range 500 {
			l.step()
		}
	}
}
