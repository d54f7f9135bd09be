package controlplane

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// soakConfig is a cluster of ordinary size with the usual periods. Its pods tolerate less than usual, so that a whole zone is
// emptied within minutes.
var soakConfig = FleetConfig{
	Name: "soak", Zones: 5, NodesPerZone: 400, PodsPerNode: 10, Toleration: time.Minute, Renewal: 10 * time.Second, Report: 5 * time.Minute,
	PastAPIServer: true,
}

const (
	soakUser     = "soak"
	soakRate     = 1.0 // nodes a second
	soakSlowRate = 0.1 // in a large zone that has lost most of its nodes
	soakPass     = 5 * time.Second
	sampledEvery = 10 * time.Second
	cutEvery     = 6 // samples
	silentFor    = 30 * time.Second
)

// soak is a controller that is measured for long, and the pods that it was right to evict.
type soak struct {
	*sized
	c       *cluster
	proxy   *Proxy
	quarter time.Duration
	lost    map[string]bool      // nodes
	tainted map[string]time.Time // when, by node
	right   map[types.UID]bool
	cuts    int
}

// Two thousand nodes and twenty thousand pods, for long: neither memory nor goroutines grow, however often the watches are cut
// and zones are lost, and nobody is evicted but those whose turn it is. In the first and the last quarter all nodes are well;
// in the second a whole zone is lost, in the third most of another. All watches are cut once a minute, and once in each
// quiet quarter nothing gets through for half a minute. It must be requested, with how long it takes, an hour to measure:
//
//	EVICTKIT_SOAK=1h go test -C internal/conformance ./controlplane -run TestSoak -v -count=1 -timeout 2h
func TestSoak(t *testing.T) {
	asked := os.Getenv("EVICTKIT_SOAK")
	if asked == "" {
		t.Skip("EVICTKIT_SOAK does not say how long")
	}
	lasts, err := time.ParseDuration(asked)
	require.NoError(t, err)
	c, err := startCluster(soakConfig)
	require.NoError(t, err)
	s := &soak{c: c, quarter: lasts / 4, right: map[types.UID]bool{}}
	s.begin(t)

	first := s.rests(t)
	s.loses(t, c.Zone(0), soakRate)
	s.loses(t, c.Zone(1)[:soakConfig.NodesPerZone*6/10], soakSlowRate)
	last := s.rests(t)

	c.view.Look(func(now *Now) {
		for uid := range now.evicted {
			require.Contains(t, s.right, uid)
		}
		require.Len(t, now.evicted, len(s.right))
	})
	t.Logf("%d pods of lost zones were evicted, no others; all watches were cut %d times; memory of the process: %.1f MiB at most", len(s.right), s.cuts, mib(s.status(t).peak))
	require.LessOrEqual(t, last.goroutines, first.goroutines+5)
	require.Less(t, last.heap, 1.1*first.heap)
	require.Less(t, last.resident, 1.2*first.resident)
	require.Less(t, total(s.requests(t, last.from, last.to)), 100*int(last.to.Sub(last.from)/time.Minute+1))
}

// begin starts the controller behind a proxy, with an election that a busy machine does not end, and waits until all is well.
func (s *soak) begin(t *testing.T) {
	t.Helper()
	proxy, kubeconfig, err := s.c.plane.StartProxy(soakUser, soakConfig.Name, ours)
	require.NoError(t, err)
	t.Cleanup(proxy.Stop)
	s.proxy = proxy
	s.sized = startSized(t, s.c.plane, s.c.controller, kubeconfig, "--node-monitor-period="+soakPass.String(), "--brakes="+metav1.NamespaceSystem+"/"+brakesName,
		"--leader-elect=true", "--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=45s",
		fmt.Sprint("--node-eviction-rate=", soakRate), fmt.Sprint("--secondary-node-eviction-rate=", soakSlowRate))
	s.waitReady(t, 3*soon)
	s.c.wait(t, 10*soon, func(now *Now) string { // the taint that all new nodes have
		for _, node := range now.nodes {
			if len(node.Spec.Taints) > 0 {
				return node.Name + " still has a taint"
			}
		}
		return ""
	})
	s.c.hold(t, settle, s.calm)
	// What is kept of the latest decisions is full from now on.
	s.lost = setOf(s.c.Zone(soakConfig.Zones - 1))
	s.c.Stop(s.c.Zone(soakConfig.Zones - 1)...)
	s.spend(t, usualGrace+soakConfig.Toleration/2)
	s.c.healWithin(t, 10*soon)
	s.lost = nil
	s.c.hold(t, settle, s.calm)
}

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// calm says which node is found not well though it is.
func (s *soak) calm(now *Now) string {
	for _, found := range []map[string]time.Time{now.unknown, now.tainted} {
		for node, at := range found {
			if !s.lost[node] {
				return fmt.Sprintf("node %s is well, and was found not to be at %s", node, at)
			}
		}
	}
	return ""
}

// sample is what the process has at one time, and how busy the machine is.
type sample struct{ resident, goroutines, load float64 }

var (
	residentLine   = regexp.MustCompile(`(?m)^process_resident_memory_bytes (\S+)$`)
	goroutinesLine = regexp.MustCompile(`(?m)^go_goroutines (\S+)$`)
	loadLine       = regexp.MustCompile(`^(\S+) `)
)

// spend lets time pass, takes samples and cuts the watches.
func (s *soak) spend(t *testing.T, d time.Duration) (all []sample) {
	t.Helper()
	for until := time.Now().Add(d); time.Now().Before(until); {
		s.c.hold(t, min(sampledEvery, time.Until(until)), s.calm)
		text, err := get("http://" + s.metrics + "/metrics")
		require.NoError(t, err)
		load, err := os.ReadFile("/proc/loadavg")
		require.NoError(t, err)
		all = append(all, sample{number(t, residentLine, text), number(t, goroutinesLine, text), number(t, loadLine, string(load))})
		if len(all)%cutEvery == 0 {
			s.cuts++
			s.proxy.Refuse()
			s.proxy.Mend()
		}
	}
	return all
}

// steady is what a quarter in which nothing fails has cost: medians, and the objects after a collection.
type steady struct {
	from, to                         time.Time
	resident, goroutines, heap, load float64
	cpu                              time.Duration
}

// rests lets a quarter pass in which nothing fails.
func (s *soak) rests(t *testing.T) *steady {
	t.Helper()
	is, began := &steady{from: time.Now()}, s.status(t).cpu
	all := s.spend(t, s.quarter/2)
	s.proxy.Cut()
	s.c.hold(t, silentFor, s.calm)
	s.proxy.Mend()
	all = append(all, s.spend(t, time.Until(is.from.Add(s.quarter)))...)
	is.to, is.cpu = time.Now(), s.status(t).cpu-began
	medianOf := func(of func(sample) float64) float64 {
		var values []float64
		for _, one := range all {
			values = append(values, of(one))
		}
		return median(values)
	}
	is.resident = medianOf(func(one sample) float64 { return one.resident })
	is.goroutines = medianOf(func(one sample) float64 { return one.goroutines })
	is.load = medianOf(func(one sample) float64 { return one.load })
	is.heap, _ = heap(t, s.debug)
	is.log(t, s.requests(t, is.from, is.to))
	return is
}

func (is *steady) log(t *testing.T, requests map[string]int) {
	t.Helper()
	lasted := is.to.Sub(is.from)
	t.Logf("quiet for %s: %.1f MiB resident, %.1f MiB of objects after a collection, %.0f goroutines, %.2f %% of a core; load of the machine %.1f; %.1f requests a minute:",
		lasted.Round(time.Second), mib(is.resident), mib(is.heap), is.goroutines, 100*is.cpu.Seconds()/lasted.Seconds(), is.load, float64(total(requests))/lasted.Minutes())
	for what, n := range requests {
		t.Logf("  %s: %.2f a minute", what, float64(n)/lasted.Minutes())
	}
}

// requests returns how many of each kind arrived in that time.
func (s *soak) requests(t *testing.T, from, to time.Time) map[string]int {
	t.Helper()
	all, err := s.c.plane.Requests(soakUser)
	require.NoError(t, err)
	kinds := map[string]int{}
	for _, r := range all {
		if r.At.After(from) && r.At.Before(to) {
			kinds[r.Verb+" "+r.Resource]++
		}
	}
	return kinds
}

// loses stops nodes for two thirds of a quarter, and checks that they were tainted at that rate and their pods left in time.
func (s *soak) loses(t *testing.T, nodes []string, rate float64) {
	t.Helper()
	began, pods := time.Now(), s.c.uids(nodes...)
	s.lost = setOf(nodes)
	s.c.Stop(nodes...)
	s.spend(t, s.quarter*2/3)
	s.c.view.Look(func(now *Now) { s.judge(t, now, nodes, pods, rate, time.Since(began)) })
	s.c.Start(nodes...)
	s.c.healWithin(t, 10*soon)
	s.c.view.Look(func(now *Now) { // some may have been due before the taints were lifted
		for node := range s.lost {
			for _, name := range s.c.Pods(node) {
				if at, gone := now.Evicted(pods[name]); gone {
					s.due(t, node, name, at)
					s.right[pods[name]] = true
				}
			}
		}
	})
	s.lost, s.tainted = nil, nil
	s.spend(t, time.Until(began.Add(s.quarter)))
}

// judge compares what has become of lost nodes and of their pods with the rate of their zone and with their tolerations.
func (s *soak) judge(t *testing.T, now *Now, nodes []string, pods map[string]types.UID, rate float64, since time.Duration) {
	t.Helper()
	s.tainted = map[string]time.Time{}
	for _, node := range nodes {
		require.Contains(t, now.unknown, node)
		seen, has := now.Tainted(node)
		if has {
			s.tainted[node] = timeAdded(now.Node(node)).Time
		}
		for _, name := range s.c.Pods(node) {
			at, gone := now.Evicted(pods[name])
			if !gone {
				require.False(t, has && time.Since(seen) > soakConfig.Toleration+soon, "%s stays on %s, tainted at %s", name, node, seen)
				continue
			}
			s.due(t, node, name, at)
			s.right[pods[name]] = true
		}
	}
	tainted, silent := float64(len(s.tainted)), (since - usualGrace).Seconds()
	t.Logf("%d nodes lost: %g of them tainted in the %.0f s after the grace period, at %g a second", len(nodes), tainted, silent, rate)
	// The first nodes to fall silent, up to a pass later, have the rate of a zone that is well.
	require.LessOrEqual(t, tainted, rate*silent+2*soakRate*soakPass.Seconds())
	require.GreaterOrEqual(t, tainted, min(0.7*(rate*silent-20), float64(len(nodes))))
}

// due fails unless the node was tainted, and the pod tolerated that no longer.
func (s *soak) due(t *testing.T, node, pod string, at time.Time) {
	t.Helper()
	require.Contains(t, s.tainted, node, "%s left it", pod)
	require.GreaterOrEqual(t, at.Sub(s.tainted[node]), soakConfig.Toleration, pod)
}
