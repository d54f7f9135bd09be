package controlplane

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// The fleet of all tests: 500 nodes with 2,500 pods. Periods are a fifth of the usual ones.
var fleetConfig = FleetConfig{Zones: 5, NodesPerZone: 100, PodsPerNode: 5, Toleration: 6 * time.Second, Renewal: 3 * time.Second, Report: time.Minute}

const (
	grace  = 10 * time.Second // of silence
	soon   = 40 * time.Second // for what is due now, on a busy machine
	period = time.Second
)

// cluster is the control plane with its fleet, which the tests share.
type cluster struct {
	*Fleet
	plane      *Plane
	view       *View
	client     kubernetes.Interface
	ctx        context.Context
	controller string // the program
}

var (
	stop     []func()
	startAll = sync.OnceValues(func() (*cluster, error) { return startCluster(fleetConfig) })
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "16") // they wait most of the time
	code := m.Run()
	for i := len(stop) - 1; i >= 0; i-- {
		stop[i]()
	}
	os.Exit(code)
}

// startCluster starts one with a fleet, which runs until all tests have ended.
func startCluster(config FleetConfig) (*cluster, error) {
	c, end, err := openCluster()
	stop = append(stop, end)
	if err != nil {
		return nil, err
	}
	if config.PastAPIServer {
		if config.store, err = c.plane.store(); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	c.Fleet, err = StartFleet(c.ctx, c.client, c.view, config)
	fmt.Fprintf(os.Stderr, "%d nodes, %d pods registered in %s\n", len(c.Nodes()), len(c.Nodes())*config.PodsPerNode, time.Since(began).Round(time.Second))
	return c, err
}

// openCluster starts one without nodes.
func openCluster() (c *cluster, end func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	plane, err := StartPlane(ctx, os.Stderr)
	if err != nil {
		return nil, cancel, err
	}
	end = func() {
		cancel()
		_ = plane.Stop()
	}
	c = &cluster{plane: plane, ctx: ctx}
	return c, end, c.prepare()
}

// prepare creates what controllers and tests need.
func (c *cluster) prepare() (err error) {
	ctx, plane := c.ctx, c.plane
	if c.client, err = kubernetes.NewForConfig(plane.Config); err != nil {
		return err
	}
	if c.controller, err = plane.BuildExample(ctx, "evictord"); err != nil {
		return err
	}
	for _, namespace := range []string{metav1.NamespaceDefault, v1.NamespaceNodeLease, metav1.NamespaceSystem} {
		// The API server creates them too, but not at once.
		_, _ = c.client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	}
	if err := errors.Join(
		c.applyManifests(ctx),
		c.bind(ctx, administrators, "cluster-admin"),
		c.bind(ctx, evictors, "evictor", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/eviction"}, Verbs: []string{"create"}}),
	); err != nil {
		return err
	}
	c.view, err = WatchCluster(ctx, c.client, metav1.NamespaceDefault)
	return err
}

// start gives a test the healthy cluster. A test that fails leaves it healthy too, for the others.
func start(t *testing.T) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a control plane")
	}
	c, err := startAll()
	require.NoError(t, err)
	t.Cleanup(func() { // after the processes of the test have ended
		if t.Failed() {
			c.run(t, "mends-what-"+t.Name()+"-left")
		}
	})
	return c
}

// flags returns flags that both controllers have.
func flags(more ...string) []string {
	return append([]string{
		"--leader-elect=false", "--kube-api-qps=200", "--kube-api-burst=400",
		"--node-monitor-period=" + period.String(), "--node-monitor-grace-period=" + grace.String(), "--node-startup-grace-period=" + grace.String(),
		"--node-eviction-rate=10", "--secondary-node-eviction-rate=10",
	}, more...)
}

// run starts our controller as a user of that name. At the end of the test it heals the cluster before it stops the
// controller.
func (c *cluster) run(t *testing.T, name string, more ...string) *Process {
	t.Helper()
	p := c.process(t, name, []string{ours, evictors}, c.controller, append([]string{"--metrics-address=", "--debug-address="}, more...)...)
	t.Cleanup(func() { c.heal(t) })
	return p
}

// process starts a controller as a user of that name and of those groups. It stops it at the end of the test unless it
// has ended.
func (c *cluster) process(t *testing.T, name string, groups []string, program string, more ...string) *Process {
	t.Helper()
	return c.program(t, name, groups, program, flags(more...)...)
}

// program does the same for any program that takes --kubeconfig.
func (c *cluster) program(t *testing.T, name string, groups []string, program string, more ...string) *Process {
	t.Helper()
	kubeconfig, err := c.plane.Kubeconfig(name, groups...)
	require.NoError(t, err)
	p, err := c.plane.StartProcess(name, program, append([]string{"--kubeconfig=" + kubeconfig}, more...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.Log())
		}
		if !p.Ended() {
			require.True(t, p.Terminate(soon), "SIGTERM ends it")
		}
	})
	return p
}

// active returns once a controller is at work: it removes a taint that a node should not have.
func (c *cluster) active(t *testing.T) {
	t.Helper()
	node := c.Nodes()[0]
	patched, err := c.client.CoreV1().Nodes().Patch(c.ctx, node, types.StrategicMergePatchType,
		[]byte(`{"spec":{"taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	c.wait(t, soon, func(now *Now) string {
		if version(t, now.Node(node)) < version(t, patched) {
			return "the watch does not show the taint yet"
		}
		for _, node := range c.Nodes() {
			if taints := now.Node(node).Spec.Taints; len(taints) > 0 {
				return fmt.Sprintf("node %s has the taint %s", node, taints[0].ToString())
			}
		}
		return ""
	})
}

func version(t *testing.T, node *v1.Node) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(node.ResourceVersion, 10, 64)
	require.NoError(t, err)
	return n
}

// heal makes everything healthy again. A controller must be running.
func (c *cluster) heal(t *testing.T) {
	t.Helper()
	c.healWithin(t, soon)
}

func (c *cluster) healWithin(t *testing.T, timeout time.Duration) {
	t.Helper()
	c.Start(c.Nodes()...)
	require.NoError(t, c.view.Wait(c.ctx, timeout, func(now *Now) string {
		for _, name := range c.Nodes() {
			if node := now.Node(name); ReadyOf(node) != v1.ConditionTrue || HasNoExecute(node) {
				return name + " is not well"
			}
			for _, name := range c.Pods(name) {
				if pod := now.Pod(name); pod != nil && pod.DeletionTimestamp != nil {
					return name + " is still being deleted"
				}
			}
		}
		return ""
	}))
	require.NoError(t, c.FillPods(c.ctx))
}
