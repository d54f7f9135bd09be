package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/maintenance"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/zone"
)

// braked is an evictor with brakes on a cluster in virtual time.
type braked struct {
	*brakes
	cluster *evictortest.Cluster
	data    map[string]string // of the ConfigMap
	fails   error             // the next reads
	log     bytes.Buffer
	held    string // why an eviction was last delayed
	opened  int    // how often taints and evictions were permitted again
}

// brake starts an evictor on which these brakes are pulled already.
func brake(t *testing.T, c *evictortest.Cluster, which clientgo.Half, announced *maintenance.Announced, data map[string]string) *braked {
	t.Helper()
	return (&braked{cluster: c, data: data}).start(t, which, announced)
}

func (b *braked) start(t *testing.T, which clientgo.Half, announced *maintenance.Announced) *braked {
	t.Helper()
	c := b.cluster
	b.brakes = brakesOf(t.Context(), "--brakes=n/b", func(context.Context) (map[string]string, error) { return b.data, b.fails },
		c.Clock(), slog.New(slog.NewTextHandler(&b.log, nil)))
	e, err := newControllers(which, evictor.DefaultConfig(), c.Clients(), evictor.Options{
		Clock: c.Clock(), Gate: b.gate(), Hold: announced.Hold, Excluded: announced.Excluded,
		Observer: evictor.Observe(func(d evictor.NodeDecision) {
			if d.Kind == nodelifecycle.GateChanged && d.Err == nil {
				b.opened++
			}
		}, func(d evictor.PodDecision) {
			if d.Kind == tainteviction.EvictionDelayed && d.Err != nil {
				b.held = d.Err.Error()
			}
		}),
	})
	require.NoError(t, err)
	b.attach(e, c.Clients().Nodes, announced.For > 0)
	c.Drive(e.all.Step)
	return b
}

// pull replaces the data of the ConfigMap, and lets the brakes be read.
func (b *braked) pull(t *testing.T, data map[string]string) {
	t.Helper()
	b.data = data
	b.look(t.Context())
}

func newBraked(t *testing.T, data map[string]string) *braked {
	t.Helper()
	return brake(t, evictortest.New(t, evictortest.Zone("eu:a", 5), evictortest.Zone("eu:b", 5), evictortest.PodsPerNode(1)), clientgo.Both, &maintenance.Announced{Clock: clock.RealClock{}}, data)
}

// TestTheBrakeOfAllStopsHarmAndNotRecovery, from before the first decision on, and another reason does not release it.
func TestTheBrakeOfAllStopsHarmAndNotRecovery(t *testing.T) {
	b := newBraked(t, nil)
	b.cluster.Fail("a-0")
	b.cluster.Advance(2 * time.Minute)
	require.True(t, b.cluster.HasNoExecute("a-0"))
	b.pull(t, map[string]string{"all": " incident 4711\n"})
	said := `msg=brakes pulled="map[all:incident 4711]"`
	require.Contains(t, b.log.String(), said)
	require.Contains(t, readme(t), said)
	b.cluster.Recover("a-0")
	b.cluster.Fail("b-0")
	b.cluster.Advance(10 * time.Minute)
	b.pull(t, map[string]string{"all": ""})
	b.pull(t, map[string]string{"all": "", "node.a-3": "debugging"})
	b.cluster.Advance(10 * time.Minute)
	require.False(t, b.cluster.HasNoExecute("a-0"), "it is lifted")
	require.Equal(t, []string{"node.kubernetes.io/unreachable:NoSchedule"}, b.cluster.Taints("b-0"), "new pods go elsewhere")
	status, _ := b.e.nodes.Node("b-0")
	require.Equal(t, v1.ConditionUnknown, status.Verdict.Ready)
	require.EqualError(t, status.HeldBack, "paused: no reason given")
	require.Zero(t, b.opened)
	b.pull(t, nil)
	b.cluster.Advance(time.Minute)
	require.True(t, b.cluster.HasNoExecute("b-0"))

	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Taint("a-0", v1.Taint{Key: "theirs", Effect: v1.TaintEffectNoExecute})
	b = brake(t, c, clientgo.Both, &maintenance.Announced{Clock: c.Clock()}, map[string]string{"all": "incident 2"})
	c.Advance(time.Hour)
	require.Empty(t, c.Evicted(), "the first step would have evicted")
	b.pull(t, nil)
	c.Advance(10 * time.Second)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}

func TestTheBrakeOfAZoneStopsHarmThere(t *testing.T) {
	b := newBraked(t, map[string]string{"zone.eu.a": "power"})
	b.cluster.Fail("a-0", "b-0")
	b.cluster.Advance(10 * time.Minute)
	require.False(t, b.cluster.HasNoExecute("a-0"))
	require.True(t, b.cluster.HasNoExecute("b-0"))
	status, _ := b.e.nodes.Node("a-0")
	require.EqualError(t, status.HeldBack, "paused: power")
	b.pull(t, nil)
	b.cluster.Advance(time.Minute)
	require.True(t, b.cluster.HasNoExecute("a-0"))

	for want, key := range map[string]zone.Key{"zone.r.z": {Region: "r", Zone: "z"}, "zone.z": {Zone: "z"}, "zone": {}} {
		require.Equal(t, want, zoneBrake(key))
	}
}

// TestTheBrakeOfANodeSparesIt: its taint is lifted, and comes back when the brake is released.
func TestTheBrakeOfANodeSparesIt(t *testing.T) {
	b := newBraked(t, nil)
	b.cluster.Fail("a-0", "a-1")
	b.cluster.Advance(2 * time.Minute)
	b.pull(t, map[string]string{"node.a-0": "debugging"})
	b.cluster.Advance(10 * time.Minute)
	require.False(t, b.cluster.HasNoExecute("a-0"))
	require.True(t, b.cluster.HasNoExecute("a-1"))
	require.Equal(t, []string{"a-1-p0"}, b.cluster.Evicted())
	require.Equal(t, []sparedNode{{"a-0", "debugging"}}, b.spared())
	b.pull(t, nil)
	b.cluster.Advance(10 * time.Minute)
	require.True(t, b.cluster.HasNoExecute("a-0"))
}

// TestTheHalfThatEvictsHoldsANode whose taints another controller writes.
func TestTheHalfThatEvictsHoldsANode(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	b := brake(t, c, clientgo.TaintEviction, &maintenance.Announced{Clock: c.Clock()}, map[string]string{"node.a-0": "debugging", "node.a-1": "debugging"})
	added := metav1.NewTime(c.Clock().Now())
	c.Taint("a-0", v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute, TimeAdded: &added})
	c.Taint("a-1", v1.Taint{Key: "theirs", Effect: v1.TaintEffectNoExecute, TimeAdded: &added})
	c.Advance(20 * time.Minute)
	require.Equal(t, []string{"a-1-p0"}, c.Evicted())
	require.Equal(t, "held: debugging", b.held)
	b.pull(t, nil)
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-1-p0", "a-0-p0"}, c.Evicted())
}

// TestBrakesThatCannotBeReadStay, and it is told once, with their age.
func TestBrakesThatCannotBeReadStay(t *testing.T) {
	b := newBraked(t, map[string]string{"all": "incident"})
	b.fails = errors.New("configmaps \"b\" not found")
	b.cluster.Fail("a-0")
	for range 10 {
		b.cluster.Advance(time.Minute)
		b.pull(t, nil)
	}
	require.False(t, b.cluster.HasNoExecute("a-0"))
	require.Equal(t, 1, strings.Count(b.log.String(), "cannot read the brakes"))
	told := b.state()
	require.Equal(t, map[string]string{"all": "incident"}, told.Pulled)
	require.Equal(t, "--brakes=n/b: configmaps \"b\" not found", told.Unreadable)
	require.Contains(t, metricsOf(t, b), "evictkit_brakes_age_seconds 600\n")
	b.fails = nil
	b.look(t.Context())
	require.Empty(t, b.state().Unreadable)
	b.cluster.Advance(time.Minute)
	require.True(t, b.cluster.HasNoExecute("a-0"))
}

// TestBrakesThatNobodyHasReadStopAll, as in an outage in which a replica starts, and it does not lead. It goes on when they
// are read.
func TestBrakesThatNobodyHasReadStopAll(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5), evictortest.PodsPerNode(1))
	b := (&braked{cluster: c, fails: errors.New("no answer")}).start(t, clientgo.Both, &maintenance.Announced{Clock: c.Clock()})
	require.Contains(t, b.log.String(), `error="--brakes=n/b: no answer"`)
	c.Fail("a-0")
	for range 10 {
		c.Advance(time.Minute)
		b.look(t.Context())
	}
	require.Equal(t, []string{"node.kubernetes.io/unreachable:NoSchedule"}, c.Taints("a-0"))
	require.EqualError(t, b.unread(), "--brakes=n/b: no answer")
	require.Contains(t, metricsOf(t, b), "evictkit_brakes_age_seconds 600\n", "since the start")
	b.fails = nil
	b.pull(t, map[string]string{"node.a-0": "debugging"})
	require.NoError(t, b.unread())
	c.Fail("a-1")
	c.Advance(10 * time.Minute)
	require.False(t, c.HasNoExecute("a-0"))
	require.True(t, c.HasNoExecute("a-1"))
}

// TestABrakeThatStopsNothingIsTold: somebody who has misspelled it believes that it holds.
func TestABrakeThatStopsNothingIsTold(t *testing.T) {
	b := newBraked(t, nil)
	b.pull(t, map[string]string{"all": "x", "al": "x", "node.a-0": "x", "node.a-9": "x", "zone.eu.b": "x", "zone.b": "x", "zone": "x"})
	wrong := []string{"al", "node.a-9", "zone", "zone.b"}
	require.Equal(t, wrong, b.state().Unmatched)
	require.Contains(t, b.log.String(), `keys="[al node.a-9 zone zone.b]"`)
	require.Equal(t, `evictkit_brakes{kind="all"} 1
evictkit_brakes{kind="announced"} 0
evictkit_brakes{kind="node"} 2
evictkit_brakes{kind="zone"} 3
evictkit_brakes_age_seconds 0
evictkit_brakes_unmatched 4
`, metricsOf(t, b))
}

// TestWhoseMaintenanceIsAnnouncedIsTold beside those that are held.
func TestWhoseMaintenanceIsAnnouncedIsTold(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5))
	b := brake(t, c, clientgo.Both, &maintenance.Announced{For: time.Hour, Nodes: c.Clients().Nodes, Clock: c.Clock()}, map[string]string{"node.a-1": "debugging"})
	c.Condition("a-3", "MaintenancePlanned", v1.ConditionTrue)
	c.Advance(time.Minute)
	require.Equal(t, []sparedNode{{"a-1", "debugging"}, {"a-3", "MaintenancePlanned"}}, b.spared())
	require.Contains(t, metricsOf(t, b), `evictkit_brakes{kind="announced"} 1`)
}

// metricsOf returns what is scraped of a collector, without comments.
func metricsOf(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return comments.ReplaceAllString(w.Body.String(), "")
}

var comments = regexp.MustCompile("(?m)^#.*\n")

// TestTheProgramReadsItsBrakes before it decides anything, and again while it runs.
func TestTheProgramReadsItsBrakes(t *testing.T) {
	s := newAPIServer()
	s.nodes = 3
	var data atomic.Pointer[map[string]string]
	s.configMap = data.Load
	s.Start()
	t.Cleanup(s.Close)
	flag := "--brakes=kube-system/evictkit-controller-brakes"
	leases(s, func(*http.Request) bool { return false })
	r := start(t, s, flag)
	told := func() string { return fetch("http://" + r.debug + "/debug/evictor") }
	require.Eventually(t, func() bool {
		return strings.HasPrefix(fetch("http://"+r.metrics+"/readyz"), "brakes: "+flag+": ")
	}, time.Minute, 10*time.Millisecond, "all else is ready")
	require.Contains(t, told(), `"all": "the brakes were not read yet"`)

	pull := func(brakes map[string]string) { data.Store(&brakes) }
	pull(map[string]string{"all": "incident 4711"})
	r.leads(t)
	require.Contains(t, told(), `"all": "incident 4711"`)
	require.Contains(t, fetch("http://"+r.metrics+"/metrics"), `evictkit_brakes{kind="all"} 1`)
	pull(map[string]string{"node." + nodeName(1): "debugging"})
	require.Eventually(t, func() bool { return strings.Contains(told(), `"why": "debugging"`) }, time.Minute, 10*time.Millisecond)
	require.NotContains(t, told(), "4711")
	require.NoError(t, r.stop())
	for request := range s.seen() {
		if strings.Contains(request, "configmaps") {
			require.Equal(t, "GET /api/v1/namespaces/kube-system/configmaps/evictkit-controller-brakes", request)
		}
	}

	s.denied = func(_, resource string) bool { return resource == "configmaps" }
	err := try(context.Background(), []string{"--kubeconfig", kubeconfig(t, s.URL), "--insecure-serving", flag}, io.Discard)
	require.EqualError(t, err, "no permission to get configmaps evictkit-controller-brakes in kube-system")
	for _, wrong := range []string{"brakes", "/brakes", "n/", "a/b/c"} {
		_, err := parse([]string{"--brakes=" + wrong}, io.Discard)
		require.EqualError(t, err, "--brakes="+wrong+": must be NAMESPACE/NAME")
	}
}
