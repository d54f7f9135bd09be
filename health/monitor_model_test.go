package health

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/internal/clockcases"
)

// monitorModel is a Monitor that keeps ages, which grow at each call, keeps no order, and scans everything.
type monitorModel struct {
	config          Config
	pending         time.Duration // what has passed since the last call, by the rule of package steady
	started, frozen bool
	passed, anew    time.Duration // how long ago, in time that counts
	nodes           map[string]*modelNode
}

type modelNode struct {
	uid                    string
	observed, ready        v1.ConditionStatus
	known, expired, out    bool
	heard, turned, news    bool
	spoke                  bool   // since it is watched
	said                   string // by the last verdict
	silent, since, watched time.Duration
	grace                  time.Duration
	heartbeat, transition  *int64
	renewal                *int64
	object, lease          modelVersion
}

type modelVersion struct {
	number uint64
	fell   *time.Duration // how long ago an older one was first seen since
	stamps []int64        // that were signs of life
}

func (m *monitorModel) graceFor(observed v1.ConditionStatus) time.Duration {
	if observed == "" {
		return m.config.NodeStartupGracePeriod
	}
	return m.config.NodeMonitorGracePeriod
}

func (m *monitorModel) counts(grace time.Duration) time.Duration {
	return min(m.pending, max(gapOf(m.config.MaxGap, grace), m.config.NodeMonitorPeriod*6/5))
}

// called is what the call of any method makes of the time that has passed.
func (m *monitorModel) called() {
	common := m.counts(m.config.NodeMonitorGracePeriod)
	m.passed += common
	m.anew += common
	for _, n := range m.nodes {
		n.silent += m.counts(n.grace)
		for _, age := range []*time.Duration{&n.since, &n.watched, n.object.fell, n.lease.fell} {
			if age != nil {
				*age += common
			}
		}
	}
	m.pending = 0
}

func (m *monitorModel) over(n *modelNode, silent time.Duration) bool {
	if m.config.NodeMonitorPeriod > 0 {
		return silent > n.grace
	}
	return silent >= n.grace
}

func (m *monitorModel) pass() (told []string) {
	m.passed = 0
	if !m.started {
		m.started, m.anew = true, 0
	}
	for _, n := range m.nodes {
		if n.heard {
			n.silent, n.heard, n.out = 0, false, false
		}
	}
	if m.frozen {
		return nil
	}
	for name, n := range m.nodes {
		if !n.out && m.over(n, n.silent) {
			n.out, n.expired, n.news = true, true, true
		}
		ready := n.observed
		if n.expired {
			ready = v1.ConditionUnknown
		}
		turned := n.turned && !n.expired
		if !n.known {
			n.since = min(n.since, m.anew)
		}
		if turned || n.known && ready != n.ready {
			n.since = 0
		}
		said := strings.Join([]string{name, string(n.observed), string(ready), map[bool]string{true: "expired"}[n.expired]}, " ")
		if n.news || turned || said != n.said {
			told = append(told, said)
		}
		n.ready, n.known, n.turned, n.news, n.said = ready, true, false, false, said
	}
	slices.Sort(told)
	return told
}

func (m *monitorModel) beat(n *modelNode) {
	n.expired, n.spoke, n.grace = false, n.known, m.graceFor(n.observed)
	if n.heard = m.config.NodeMonitorPeriod > 0 || !m.started; !n.heard {
		n.silent, n.out = 0, false
	}
}

func (m *monitorModel) restart() {
	m.anew = 0
	for _, n := range m.nodes {
		n.since, n.silent, n.out, n.spoke, n.heard = 0, 0, false, false, false
	}
}

// sees says whether an object of that version is believed, and whether its stamp, if it has one, is a sign of life.
func (m *monitorModel) sees(v *modelVersion, number uint64, stamp, last *int64) (believed, alive bool) {
	latest := int64(math.MinInt64)
	for _, s := range v.stamps {
		latest = max(latest, s)
	}
	older, later := number != 0 && number < v.number, stamp != nil && *stamp > latest
	if older && v.fell == nil {
		v.fell = new(time.Duration)
	}
	recent := older && *v.fell < m.config.NodeMonitorGracePeriod
	if older && recent && !later {
		return false, false
	}
	if number != 0 && (!older || later && !recent) {
		v.number, v.fell = number, nil
	}
	alive = stamp != nil && (later || !older && (last == nil || *stamp != *last))
	return true, alive
}

func (m *monitorModel) observe(o *v1.Node, wall time.Time) Observation {
	n, uid := m.nodes[o.Name], string(o.UID)
	number, ready := parseVersion(o.ResourceVersion), find(o, v1.NodeReady)
	status, stamp, transition := v1.ConditionStatus(""), (*int64)(nil), (*int64)(nil)
	if ready != nil {
		heartbeat, turn := ready.LastHeartbeatTime.UnixNano(), ready.LastTransitionTime.UnixNano()
		status, stamp, transition = ready.Status, &heartbeat, &turn
	}
	reports := status == v1.ConditionTrue || status == v1.ConditionFalse
	other := n != nil && n.uid != "" && uid != "" && n.uid != uid
	if n == nil || other {
		return m.watch(o, n, modelNode{uid: uid, observed: status, heartbeat: stamp, transition: transition, object: modelVersion{number: number}, news: true}, wall)
	}
	counted := stamp
	if !reports {
		counted = nil
	}
	believed, alive := m.sees(&n.object, number, counted, n.heartbeat)
	if !believed {
		return Observation{Stale: true}
	}
	if n.uid == "" && uid != "" {
		n.uid, n.news = uid, true
	}
	changed := reports && n.observed != status
	n.observed, n.spoke = status, n.spoke || changed && n.known
	if grace := m.graceFor(status); !n.expired || grace < n.grace {
		n.grace = grace
	}
	if (alive || changed) && (n.transition == nil || *n.transition != *transition) {
		n.transition, n.turned = transition, true
	}
	if alive {
		n.heartbeat = stamp
		n.object.stamps = append(n.object.stamps, *stamp)
		m.beat(n)
	}
	return Observation{Heartbeat: alive}
}

func (m *monitorModel) watch(o *v1.Node, old *modelNode, n modelNode, wall time.Time) Observation {
	if old != nil {
		if believed, _ := m.sees(&old.object, n.object.number, nil, nil); !believed {
			return Observation{Stale: true}
		}
		n.lease, n.renewal = old.lease, old.renewal
		if n.object.number == 0 {
			n.object.number = old.object.number
		}
		n.heard, n.out = old.heard, old.out
	}
	if n.heartbeat != nil {
		n.object.stamps = []int64{*n.heartbeat}
	}
	created := o.CreationTimestamp.Time
	n.grace = m.graceFor(n.observed)
	if n.observed == "" && m.started && !created.IsZero() && !created.After(wall) {
		n.silent = min(wall.Sub(created), m.passed)
		n.since, n.heard, n.out = n.silent, false, false
	} else {
		m.beat(&n)
	}
	m.nodes[o.Name] = &n
	return Observation{Heartbeat: true}
}

func (m *monitorModel) renew(name string, stamp int64, number uint64) bool {
	n := m.nodes[name]
	if n == nil {
		return false
	}
	_, alive := m.sees(&n.lease, number, &stamp, n.renewal)
	if alive {
		n.renewal = &stamp
		n.lease.stamps = append(n.lease.stamps, stamp)
		m.beat(n)
	}
	return alive
}

// settles returns how much longer it takes.
func (m *monitorModel) settles(n *modelNode) (in time.Duration, ok bool) {
	grace := n.grace
	if m.config.NodeMonitorPeriod > 0 {
		grace++
	}
	switch watched := min(n.watched, m.anew); {
	case n.ready == v1.ConditionFalse && n.observed == n.ready && n.spoke:
		return -min(n.since, watched), true
	case n.ready == v1.ConditionFalse:
		return grace - watched, true
	case n.expired:
		return grace - min(watched, n.silent), true
	}
	return 0, false
}

func (m *monitorModel) next() (in time.Duration, ok bool) {
	period := m.config.NodeMonitorPeriod
	switch {
	case !m.started:
		return -m.passed, true
	case period > 0:
		return period - m.passed, true
	case m.frozen:
		return 0, false
	}
	in = math.MaxInt64
	for _, n := range m.nodes {
		if !n.out {
			gap := gapOf(m.config.MaxGap, n.grace)
			in, ok = min(in, n.grace-n.silent, gap-gap/2), true
		}
	}
	return in, ok
}

// monitorLife plays operations on a Monitor and on the model.
type monitorLife struct {
	t     testing.TB
	r     *rand.Rand
	m     *Monitor
	model *monitorModel
	clk   *clockcases.Clock
	real  bool // the clock has monotonic readings
	time  time.Duration
	seed  int64
}

func newMonitorLife(t testing.TB, seed int64) *monitorLife {
	r := rand.New(rand.NewSource(seed))
	l := &monitorLife{t: t, r: r, real: seed%2 == 0, seed: seed}
	l.clk = clockcases.New(l.real)
	config := Config{
		NodeMonitorPeriod:      []time.Duration{0, 0, 5 * time.Second, 7 * time.Second}[r.Intn(4)],
		NodeMonitorGracePeriod: []time.Duration{20 * time.Second, 40 * time.Second}[r.Intn(2)], NodeStartupGracePeriod: 40 * time.Second,
		MaxGap: []time.Duration{0, 0, 3 * time.Second, time.Hour}[r.Intn(4)], Clock: l.clk,
	}
	var err error
	l.m, err = NewMonitor(config)
	require.NoError(t, err)
	l.m.Next()
	l.model = &monitorModel{config: config, nodes: map[string]*modelNode{}}
	return l
}

func (l *monitorLife) name() string { return string(rune('a' + l.r.Intn(6))) }

// stamp is a time by a clock that is often wrong.
func (l *monitorLife) stamp() time.Time {
	return clockcases.Start.Add(l.time + time.Duration(l.r.Intn(5)-3)*10*time.Second).Truncate(10 * time.Second)
}

func (l *monitorLife) version() string {
	if l.r.Intn(3) == 0 {
		return ""
	}
	return fmt.Sprint(100 + int(l.time/(10*time.Second))%30 + l.r.Intn(5))
}

func (l *monitorLife) node() *v1.Node {
	n := &v1.Node{}
	n.Name, n.UID, n.ResourceVersion = l.name(), []types.UID{"", "1", "1", "1", "2"}[l.r.Intn(5)], l.version()
	if l.r.Intn(4) > 0 {
		n.CreationTimestamp = metav1.NewTime(l.clk.Wall().Add(time.Duration(10-l.r.Intn(100)) * time.Second))
	}
	status := []v1.ConditionStatus{"", v1.ConditionTrue, v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}[l.r.Intn(5)]
	if status != "" {
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status, LastHeartbeatTime: metav1.NewTime(l.stamp()), LastTransitionTime: metav1.NewTime(l.stamp())}}
	}
	return n
}

func (l *monitorLife) wait(d time.Duration) {
	l.clk.Pass(d)
	l.time += d
	l.model.pending += d
}

func (l *monitorLife) pass() {
	told := []string(nil)
	verdicts := l.m.Pass()
	l.model.called()
	for _, v := range verdicts {
		told = append(told, strings.Join([]string{v.Node, string(v.Observed), string(v.Ready), map[bool]string{true: "expired"}[v.Expired]}, " "))
	}
	if want := l.model.pass(); !slices.Equal(want, told) {
		l.t.Fatalf("%q, expected %q", told, want)
	}
}

func (l *monitorLife) set(d time.Duration) {
	l.m.Next()
	l.model.called()
	l.clk.Set(d)
	if !l.real && d > 0 {
		l.model.pending = d
	}
}

func (l *monitorLife) step() {
	switch l.r.Intn(24) {
	case 0, 1, 2, 3:
		o := l.node()
		got := l.m.ObserveNode(o)
		l.model.called()
		if want := l.model.observe(o, l.clk.Wall()); got != want {
			l.t.Fatalf("%+v, expected %+v of %+v", got, want, o)
		}
	case 4, 5, 6, 7, 8, 9:
		name, stamp, version := l.name(), l.stamp(), l.version()
		got := l.m.ObserveLease(name, stamp, version)
		l.model.called()
		require.Equal(l.t, l.model.renew(name, stamp.UnixNano(), parseVersion(version)), got)
	case 10:
		name, uid := l.name(), []types.UID{"", "1", "2"}[l.r.Intn(3)]
		n := l.model.nodes[name]
		known := n != nil && (uid == "" || n.uid == "" || string(uid) == n.uid)
		require.Equal(l.t, known, l.m.Forget(name, uid))
		if known {
			delete(l.model.nodes, name)
		}
	case 11, 12, 13, 14:
		if next, ok := l.m.Next(); ok {
			l.model.called()
			l.wait(max(0, next.Sub(l.clk.Now())) + time.Duration(l.r.Intn(3))*time.Millisecond)
			l.pass()
		}
	case 15, 16:
		l.wait(time.Duration(l.r.Intn(10)) * time.Second)
	case 17, 18:
		l.pass()
	case 19:
		l.rare()
	case 20:
		if l.r.Intn(4) == 0 {
			l.m.Freeze()
			l.model.frozen = true
			return
		}
		l.m.Thaw()
		l.model.called()
		if l.model.frozen {
			l.model.frozen = false
			l.model.restart()
		}
	case 21, 22:
		l.silent()
	}
	l.check()
}

func (l *monitorLife) rare() {
	switch l.r.Intn(7) {
	case 0:
		l.wait(time.Duration(1+l.r.Intn(3600)) * time.Second)
	case 1:
		l.set([]time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}[l.r.Intn(4)])
	case 2:
		l.m.Restart()
		l.model.called()
		l.model.restart()
	}
}

// silent asks who would be silent after a while.
func (l *monitorLife) silent() {
	in := time.Duration(l.r.Intn(30)) * time.Second
	got, want := l.m.Silent(l.clk.Now().Add(in)), []string(nil)
	l.model.called()
	for name, n := range l.model.nodes {
		if !l.model.frozen && !n.heard && !n.expired && !n.out && n.silent+in >= n.grace {
			want = append(want, name)
		}
	}
	if slices.Sort(want); !slices.Equal(want, got) {
		l.t.Fatalf("silent in %v: %q, expected %q", in, got, want)
	}
}

// check compares the answers of every method.
func (l *monitorLife) check() {
	now := l.clk.Now()
	next, ok := l.m.Next()
	l.model.called()
	want, some := l.model.next()
	if len(l.m.changed) > 0 && l.model.started && !l.model.frozen && l.model.config.NodeMonitorPeriod == 0 {
		want, some = -l.model.passed, true
	}
	if ok != some || some && next.Sub(now) != want {
		l.t.Fatalf("Next %v %v, expected %v %v", next.Sub(now), ok, want, some)
	}
	for name, n := range l.model.nodes {
		v, known := l.m.Verdict(name)
		silent := n.silent
		if n.heard {
			silent = 0
		}
		if known != n.known || known && (v.Node != name || string(v.UID) != n.uid || v.Ready != n.ready || v.Observed != n.observed || v.Expired != n.expired ||
			now.Sub(v.LastBeat) != silent || now.Sub(v.Since) != n.since || v.Grace != n.grace) {
			l.t.Fatalf("seed %d: %+v at %v, expected %+v", l.seed, v, now, n)
		}
		if in, ok := l.model.settles(n); known && (ok == v.Settles.IsZero() || ok && v.Settles.Sub(now) != in) {
			l.t.Fatalf("%s settles at %v, expected %v %v", name, v.Settles, in, n)
		}
	}
	require.Len(l.t, l.model.nodes, l.m.nodes.Len())
}

func TestMonitorAgainstAModel(t *testing.T) {
	for seed, left := int64(0), *operationsFlag; left > 0; seed, left = seed+1, left-500 {
		l := newMonitorLife(t, seed)
		for range 500 {
			l.step()
		}
	}
}
