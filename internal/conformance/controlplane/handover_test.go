package controlplane

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The cluster of one cell of the table. In each of two zones, eight of the fifteen nodes fail, few enough for the zones
// to keep their usual pace.
var handOverConfig = FleetConfig{Zones: 2, NodesPerZone: 15, PodsPerNode: 2, Toleration: 12 * time.Second, Renewal: 3 * time.Second, Report: time.Minute}

const (
	failing     = 8 // nodes of each zone
	pacePerZone = 1 // nodes a second
	outage      = 15 * time.Second
)

// electing returns the flags of leader election, which both programs have.
func electing(lease string) []string {
	return []string{
		"--leader-elect=true", "--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s",
		"--leader-elect-resource-name=" + lease,
		fmt.Sprint("--node-eviction-rate=", pacePerZone), fmt.Sprint("--secondary-node-eviction-rate=", pacePerZone),
	}
}

// ways are the ways in which a leader is lost, and how it comes back once another one leads.
var ways = []struct {
	name       string
	lose, back func(*replica) error
}{
	{"SIGTERM", func(r *replica) error { return r.Signal(syscall.SIGTERM) }, nothing},
	{"SIGKILL", func(r *replica) error { r.Kill(); return nil }, nothing},
	{"SIGSTOP", func(r *replica) error { return r.Signal(syscall.SIGSTOP) }, func(r *replica) error { return r.Signal(syscall.SIGCONT) }},
	{"connection cut", func(r *replica) error { r.proxy.Cut(); return nil }, func(r *replica) error { r.proxy.Mend(); return nil }},
}

func nothing(*replica) error { return nil }

// moments are when it is lost, and how to reach that moment once the nodes have stopped.
var moments = []struct {
	name   string
	reach  func(*handOver) error
	outage bool
}{
	{"before the verdict", func(h *handOver) error { return h.stays(grace / 2) }, false},
	{"while tainting", func(h *handOver) error { return h.taints(len(h.failing) / 2) }, false},
	{"while tolerations run", func(h *handOver) error { return h.taints(len(h.failing)) }, false},
	{"during an API outage", func(h *handOver) error { return h.taints(len(h.failing) / 2) }, true},
}

// programs are the programs that hand over, and the requests after which a follower is ready.
var programs = []struct {
	name, group     string
	path            func(*cluster) string
	flags           []string
	leader, follows []string
}{
	{
		"controller", administrators, func(c *cluster) string { return c.controller }, []string{"--metrics-address=", "--debug-address="},
		[]string{"watch /api/v1/nodes", "watch /api/v1/pods", "watch " + leasesPath},
		[]string{"watch /api/v1/nodes", "watch /api/v1/pods", "watch " + leasesPath},
	},
	{
		"kube-controller-manager", administrators, func(c *cluster) string { return c.plane.Programs.ControllerManager },
		[]string{"--controllers=node-lifecycle-controller,taint-eviction-controller", "--secure-port=0"},
		[]string{"watch /api/v1/nodes", "watch /api/v1/pods", "watch /apis/coordination.k8s.io/v1/leases"}, nil,
	},
}

// TestHandOver loses the leader of two replicas in each way at each moment. Every pod that must go goes, once and not
// too early. No other pod goes, and each zone's pace is kept. It plays a sample of four cells unless EVICTKIT_FULL is
// set; then it also plays all sixteen with kube-controller-manager in our place, side by side.
func TestHandOver(t *testing.T) {
	c := open(t)
	full := os.Getenv("EVICTKIT_FULL") != ""
	var mu sync.Mutex
	var seen []handedOver
	t.Run("cells", func(t *testing.T) {
		for p, program := range programs {
			for w := range ways {
				for m := range moments {
					if !full && (p > 0 || w != m) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s", program.name, ways[w].name, moments[m].name), func(t *testing.T) {
						t.Parallel()
						result := c.undisturbed(t, p, w, m)
						mu.Lock()
						defer mu.Unlock()
						seen = append(seen, result)
						if p == 0 {
							result.check(t)
						}
					})
				}
			}
		}
	})
	t.Log("\n" + handOverTable(seen))
}

// open gives a test its own control plane, without nodes.
func open(t *testing.T) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a control plane")
	}
	c, end, err := openCluster()
	t.Cleanup(end)
	require.NoError(t, err)
	return c
}

// handOver is one cell while it is played.
type handOver struct {
	c             *cluster
	fleet         *Fleet
	failing, well []string // nodes
	down          atomic.Bool
	replicas      [2]*replica // the leader first
}

// replica is one replica of a controller.
type replica struct {
	*Process
	proxy *Proxy
}

// tries is how often a cell is played while a busy machine takes a lease from its holder.
const tries = 3

// undisturbed plays a cell in which nothing but the machine's own work makes a replica lose its lease.
func (c *cluster) undisturbed(t *testing.T, p, w, m int) (result handedOver) {
	for try := range tries {
		busy := ""
		t.Run(fmt.Sprint("try ", try), func(t *testing.T) {
			if result, busy = c.handOver(t, p, w, m, try); busy != "" && try+1 < tries {
				t.Skip(busy)
			}
		})
		if busy == "" {
			return result
		}
	}
	require.Fail(t, "this machine is too busy")
	return result
}

// handOver plays a cell, and says if and how a busy machine has disturbed it.
func (c *cluster) handOver(t *testing.T, p, w, m, try int) (result handedOver, busy string) {
	config := handOverConfig
	config.Name = fmt.Sprintf("cell-%d%d%d%d", p, w, m, try)
	h := c.newHandOver(t, config)
	lease := "evictkit-" + config.Name
	first := h.startBoth(t, p, lease)
	h.fleet.Stop(h.failing...)
	stopped := time.Now()
	reached, end := moments[m].reach(h), stopped
	if h.replicas[0].Ended() || h.calm(nil) != "" || first != *c.lease(t, lease).HolderIdentity {
		return result, "a replica could not renew its lease"
	}
	require.NoError(t, reached)
	if moments[m].outage {
		h.setDown(true)
		if err := h.stays(2 * time.Second); err != nil {
			return result, err.Error()
		}
		end = time.Now().Add(outage)
	}
	lost := time.Now()
	if h.replicas[0].Ended() {
		return result, "the leader could not renew its lease"
	}
	require.NoError(t, ways[w].lose(h.replicas[0]))
	if moments[m].outage {
		if err := h.stays(time.Until(end)); err != nil {
			return result, err.Error()
		}
		h.setDown(false)
	}
	c.leads(t, lease, first)
	led := c.lease(t, lease).AcquireTime.Time // not when we see it: what falls due from then on keeps its instant
	require.NoError(t, ways[w].back(h.replicas[0]))
	pods := h.pods(h.failing)
	missing := c.view.Wait(c.ctx, grace+failing*time.Second+config.Toleration+2*soon, func(now *Now) string { return remain(now, pods) })
	if busy = h.calm(nil); missing != nil && busy != "" {
		return result, busy
	}
	c.hold(t, 5*time.Second, func(*Now) string { return "" }) // whatever else happens
	result = h.judge(t, lost, led)
	result.program, result.way, result.moment = p, w, m
	result.gap = led.Sub(lost)
	result.missing = missing
	return result, ""
}

func (c *cluster) lease(t *testing.T, name string) coordinationv1.LeaseSpec {
	t.Helper()
	held, err := c.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(c.ctx, name, metav1.GetOptions{})
	require.NoError(t, err)
	return held.Spec
}

// newHandOver makes a fleet for one cell, and removes it when the test has ended.
func (c *cluster) newHandOver(t *testing.T, config FleetConfig) *handOver {
	t.Helper()
	h := &handOver{c: c}
	reached := rest.CopyConfig(c.plane.Config)
	reached.Wrap(func(through http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if h.down.Load() {
				return nil, fmt.Errorf("the API is down for this fleet: %w", syscall.ECONNREFUSED)
			}
			return through.RoundTrip(r)
		})
	})
	client, err := kubernetes.NewForConfig(reached)
	require.NoError(t, err)
	h.fleet, err = StartFleet(c.ctx, client, c.view, config)
	require.NoError(t, err)
	t.Cleanup(func() {
		h.down.Store(false)
		h.fleet.Stop(h.fleet.Nodes()...)
		require.NoError(t, h.fleet.Remove(c.ctx))
	})
	for z := range config.Zones {
		h.failing = append(h.failing, h.fleet.Zone(z)[:failing]...)
		h.well = append(h.well, h.fleet.Zone(z)[failing:]...)
	}
	return h
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// starting limits how many programs start at once, because all at once would be late with everything.
var starting = make(chan bool, 2)

// startBoth starts first the replica that is to lead, then the other.
func (h *handOver) startBoth(t *testing.T, p int, lease string) (leader string) {
	t.Helper()
	starting <- true
	defer func() { <-starting }()
	for i := range h.replicas {
		h.replicas[i] = h.start(t, p, i, lease)
	}
	return h.c.leads(t, lease, "")
}

// start starts a replica and returns when it is ready to lead or to follow.
func (h *handOver) start(t *testing.T, p, i int, lease string) *replica {
	t.Helper()
	program := programs[p]
	name := fmt.Sprintf("%s-%d", h.fleet.Config.Name, i)
	proxy, kubeconfig, err := h.c.plane.StartProxy(name, h.fleet.Config.Name, program.group)
	require.NoError(t, err)
	t.Cleanup(proxy.Stop)
	args := append(append(flags(electing(lease)...), program.flags...), "--kubeconfig="+kubeconfig)
	process, err := h.c.plane.StartProcess(name, program.path(h.c), args...)
	require.NoError(t, err)
	r := &replica{process, proxy}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(name, r.Log())
		}
		if !r.Ended() {
			_ = r.Signal(syscall.SIGCONT)
			r.Kill()
		}
	})
	asked := program.leader
	if i > 0 {
		asked = program.follows
	}
	asked = append(slices.Clone(asked), "get /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"+lease)
	require.Eventually(t, func() bool { return proxy.Asked(asked...) }, 3*soon, 50*time.Millisecond, name)
	return r
}

// setDown takes the API away from the whole cell, or gives it back.
func (h *handOver) setDown(down bool) {
	h.down.Store(down)
	for _, r := range h.replicas {
		if down {
			r.proxy.Refuse()
		} else {
			r.proxy.Mend()
		}
	}
}

// calm says what is wrong while a hand-over is played: a replica that follows, or has taken over, ends only if it cannot
// renew its lease.
func (h *handOver) calm(*Now) string {
	if h.replicas[1].Ended() {
		return "the second replica has ended"
	}
	return ""
}

// stays lets time pass, and returns early with an error if that is not calm.
func (h *handOver) stays(d time.Duration) error { return h.c.view.Hold(h.c.ctx, d, h.calm) }

// taints waits until that many of the nodes are tainted.
func (h *handOver) taints(n int) error {
	return h.c.view.Wait(h.c.ctx, grace+failing*time.Second+soon, func(now *Now) string {
		tainted := 0
		for _, node := range h.failing {
			if _, ok := now.Tainted(node); ok {
				tainted++
			}
		}
		if tainted < n {
			return fmt.Sprintf("%d of %d nodes are tainted", tainted, n)
		}
		return ""
	})
}

func (h *handOver) pods(nodes []string) map[string]types.UID {
	pods := map[string]types.UID{}
	h.c.view.Look(func(now *Now) {
		for _, node := range nodes {
			for _, name := range h.fleet.Pods(node) {
				pods[name] = now.Pod(name).UID
			}
		}
	})
	return pods
}
