package controlplane

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The API server is killed for a minute while pods are being evicted. All pods that were to leave do so, once. No node
// is declared failed because of the API server's silence. A replica that starts meanwhile waits for it.
func TestAPIServerIsKilledDuringEvictions(t *testing.T) {
	c := start(t)
	c.run(t, "api-killed")
	nodes := c.Zone(2)[:40]
	pods := c.uids(nodes...)
	others := without(c.uids(c.Nodes()...), pods)
	c.Stop(nodes...)
	c.wait(t, soon, func(now *Now) string {
		if leave(now, pods) == "" {
			return "no pod has left yet"
		}
		return ""
	})
	c.plane.KillAPIServer()
	remaining := 0
	c.view.Look(func(now *Now) {
		for _, uid := range pods {
			if _, gone := now.Evicted(uid); !gone {
				remaining++
			}
		}
	})
	t.Logf("killed with %d of %d pods to go", remaining, len(pods))
	outage := time.NewTimer(time.Minute)
	address := freeAddress(t)
	late := c.process(t, "starts-meanwhile", []string{ours}, c.controller, "--dry-run", "--metrics-address="+address, "--debug-address=", "--insecure-serving")
	<-outage.C
	code, err := fetch("http://"+address+"/healthz", "")
	require.NoError(t, err, late.Log())
	require.Equal(t, http.StatusOK, code, late.Log())
	require.NoError(t, c.plane.StartAPIServer())
	c.eventually(t, func() bool { code, _ := fetch("http://"+address+"/readyz", ""); return code == http.StatusOK })
	require.Positive(t, remaining, "or it was not during evictions")
	well := func(now *Now) string {
		for _, node := range c.Nodes() {
			if _, unknown := now.Unknown(node); unknown && now.Pod(c.Pods(node)[0]) != nil && others[c.Pods(node)[0]] != "" {
				return fmt.Sprintf("node %s was condemned", node)
			}
		}
		return leave(now, others)
	}
	c.wait(t, 2*soon, func(now *Now) string { return remain(now, pods) })
	c.hold(t, grace+fleetConfig.Toleration, well)
	requests, err := c.plane.Requests("api-killed")
	require.NoError(t, err)
	deletions := map[string]int{}
	for _, r := range requests {
		if r.Verb == "delete" && r.Resource == "pods" && r.Code < 300 {
			deletions[r.Name]++
			require.Equal(t, 1, deletions[r.Name], r)
			require.NotEmpty(t, pods[r.Name], r)
		}
	}
}

// The leader is killed while tolerations run; the follower, which has watched, continues. Then that one is stopped, and
// a successor that did not see the tolerations begin continues. The pods leave when they were to.
func TestLeaderIsKilledAndTolerationsRunOn(t *testing.T) {
	c := start(t)
	const tolerated = 40 * time.Second
	elect := []string{"--leader-elect=true", "--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s", "--metrics-address=", "--debug-address="}
	leader := c.process(t, "leader", []string{ours}, c.controller, elect...)
	first := c.leads(t, leaseName, "")
	follower := c.process(t, "follower", []string{ours}, c.controller, elect...)

	node := c.Zone(3)[7]
	long := map[string]types.UID{}
	for i := range 3 {
		pod := c.Pod(fmt.Sprint("long-", i), node)
		seconds := int64(tolerated / time.Second)
		for k := range pod.Spec.Tolerations {
			pod.Spec.Tolerations[k].TolerationSeconds = &seconds
		}
		pod, err := c.client.CoreV1().Pods(pod.Namespace).Create(c.ctx, pod, metav1.CreateOptions{})
		require.NoError(t, err)
		long[pod.Name] = pod.UID
	}
	c.Stop(node)
	c.wait(t, soon, func(now *Now) string { return untainted(now, []string{node}) })
	var tainted time.Time
	var added *metav1.Time
	c.view.Look(func(now *Now) {
		tainted, _ = now.Tainted(node)
		added = timeAdded(now.Node(node))
	})
	c.hold(t, 5*time.Second, func(now *Now) string { return leave(now, long) })
	leader.Kill()
	second := c.leads(t, leaseName, first)
	require.True(t, follower.Terminate(soon))
	c.handsOver(t, leaseName)
	c.process(t, "successor", []string{ours}, c.controller, elect...)
	c.leads(t, leaseName, second)
	require.Less(t, time.Since(tainted), tolerated-grace-period, "this machine is too busy: the successor cannot watch for a grace period before the pods are due")
	c.wait(t, tolerated+soon, func(now *Now) string { return remain(now, long) })
	c.view.Look(func(now *Now) {
		require.Equal(t, added, timeAdded(now.Node(node)), "the taint stays")
		for name, uid := range long {
			at, _ := now.Evicted(uid)
			require.GreaterOrEqual(t, at.Sub(added.Time), tolerated, name)
			require.LessOrEqual(t, at.Sub(tainted), tolerated+5*time.Second, name)
		}
	})
	c.heal(t)
}

// A controller is stopped just when it gets the lease, before it knows that it has it.
func TestTheLeaseIsHandedOverHoweverYoung(t *testing.T) {
	c := start(t)
	for i := range 10 {
		p := c.process(t, fmt.Sprint("brief-", i), []string{ours}, c.controller, "--leader-elect=true", "--metrics-address=", "--debug-address=")
		c.leads(t, leaseName, "")
		require.True(t, p.Terminate(soon))
		c.handsOver(t, leaseName)
	}
}

const leaseName = "evictkit-controller"

// handsOver asserts that the leader has released the lease.
func (c *cluster) handsOver(t *testing.T, lease string) {
	t.Helper()
	held, err := c.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(c.ctx, lease, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, *held.Spec.HolderIdentity, "SIGTERM hands over the lease")
}

// leads waits until the lease has another holder, or none, and returns it.
func (c *cluster) leads(t *testing.T, lease, not string) string {
	t.Helper()
	watched, err := c.client.CoordinationV1().Leases(metav1.NamespaceSystem).Watch(c.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + lease})
	require.NoError(t, err)
	defer watched.Stop()
	timer := time.NewTimer(soon)
	defer timer.Stop()
	for {
		select {
		case event := <-watched.ResultChan():
			held, ok := event.Object.(*coordinationv1.Lease)
			require.True(t, ok)
			if holder := held.Spec.HolderIdentity; holder != nil && *holder != "" && *holder != not {
				return *holder
			}
		case <-timer.C:
			t.Fatal("nobody leads, or still the same")
		}
	}
}

// timeAdded returns that of the node's unreachable taint, nil if it has none.
func timeAdded(node *v1.Node) *metav1.Time {
	for i := range node.Spec.Taints {
		if t := &node.Spec.Taints[i]; t.Key == v1.TaintNodeUnreachable && t.Effect == v1.TaintEffectNoExecute {
			return t.TimeAdded
		}
	}
	return nil
}

// Within controller-runtime the evictor acts once it leads, and releases the lease when it ends.
func TestManagerActsOnceItLeads(t *testing.T) {
	c := start(t)
	program, err := c.plane.BuildExample(c.ctx, "manager")
	require.NoError(t, err)
	const lease = "evictkit-manager"
	p := c.program(t, "manager", []string{administrators}, program)
	c.leads(t, lease, "")
	c.active(t)
	require.True(t, p.Terminate(soon), p.Log())
	c.handsOver(t, lease)
}

// A missing permission is named, with verb and resource.
func TestMissingPermissionIsNamed(t *testing.T) {
	c := start(t)
	p := c.process(t, "nobody", []string{"nothing"}, c.controller, "--metrics-address=", "--debug-address=")
	ended := time.NewTimer(soon)
	defer ended.Stop()
	select {
	case <-p.done:
	case <-ended.C:
		t.Fatal("it goes on")
	}
	require.False(t, p.cmd.ProcessState.Success())
	for _, words := range []string{"patch", "nodes", "list", "pods", "delete"} {
		require.Contains(t, p.Log(), words)
	}
	t.Log(p.Log())
}
