package controlplane

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The cluster in which sixty nodes are drained at once.
var drainConfig = FleetConfig{Zones: 2, NodesPerZone: 30, PodsPerNode: 5, Toleration: 300 * time.Second, Renewal: 3 * time.Second, Report: time.Minute}

const guardedPods = 300

// patience is for how long the refused pods are watched, and how many requests each may cost in that time: at once,
// after one second, two, four and so on up to a minute, as clientgo says.
func patience() (watched time.Duration, tries int) {
	if os.Getenv("EVICTKIT_FULL") == "" {
		return time.Minute, 7
	}
	return 150 * time.Second, 8
}

// TestABudgetHoldsNobodyElse: 300 pods leave as fast beside 300 that a disruption budget protects as they do alone,
// with the usual rate of requests. A few of the refused ones are tried, less and less often, and Explain knows of each since
// when and why.
func TestABudgetHoldsNobodyElse(t *testing.T) {
	c := open(t)
	watched, triesWatched := patience()
	var err error
	c.Fleet, err = StartFleet(c.ctx, c.client, c.view, drainConfig)
	require.NoError(t, err)
	free := c.uids(c.Nodes()...)
	alone := c.drain(t, "alone", free)
	require.NoError(t, c.FillPods(c.ctx))

	free = c.uids(c.Nodes()...)
	guarded := c.guard(t)
	debug := freeAddress(t)
	beside := c.drain(t, "beside", free, "--debug-address="+debug, "--insecure-serving")
	t.Logf("300 free pods alone: %s", alone)
	t.Logf("300 free pods beside 300 that are refused: %s", beside)
	require.Equal(t, len(free), alone.asked)
	require.LessOrEqual(t, beside.asked, len(free)*3/2, "requests until the last free one has left")

	c.hold(t, time.Until(beside.began.Add(watched)), func(now *Now) string { return leave(now, guarded) })
	tries := map[string]int{}
	for _, r := range c.evictions(t, "beside") {
		if guarded[r.Name] != "" {
			require.Equal(t, http.StatusTooManyRequests, r.Code, r)
			tries[r.Name]++
		}
	}
	all := 0
	for name, n := range tries {
		all += n
		require.LessOrEqual(t, n, triesWatched, name)
	}
	require.NotZero(t, all)
	require.Less(t, all, guardedPods/2, "the pods of one budget that refuses are not asked about one by one")
	t.Logf("%d requests for those that are refused within %s", all, watched)
	told, err := get("http://" + debug + "/debug/evictor?explain=default/" + guardedName(7))
	require.NoError(t, err)
	t.Log(told)
	require.Contains(t, told, "DisruptionBudget")
}

// drained is how the free pods left.
type drained struct {
	began        time.Time
	median, last time.Duration
	asked        int // requests for evictions until then
}

// String is for the log.
func (d drained) String() string {
	return fmt.Sprintf("half of them after %s, the last after %s, %d requests", d.median.Round(10*time.Millisecond), d.last.Round(10*time.Millisecond), d.asked)
}

// drain taints all nodes at one time, as another controller would. They are healthy again once the free pods have left
// and the test has ended.
func (c *cluster) drain(t *testing.T, user string, free map[string]types.UID, more ...string) (d drained) {
	t.Helper()
	p := c.process(t, user, []string{administrators}, c.controller, append([]string{
		"--use-eviction-api", "--kube-api-qps=20", "--kube-api-burst=30", "--metrics-address=", "--debug-address=",
	}, more...)...)
	c.active(t)
	taint := func(patch string) {
		require.NoError(t, each(c.Nodes(), func(node string) error {
			_, err := c.client.CoreV1().Nodes().Patch(c.ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		}))
	}
	d.began = time.Now()
	taint(`{"spec":{"taints":[{"key":"example.com/drain","effect":"NoExecute"}]}}`)
	c.wait(t, 3*soon, func(now *Now) string { return remain(now, free) })
	var left []time.Duration
	for i, r := range c.evictions(t, user) {
		if free[r.Name] == "" || r.Code >= 300 {
			continue
		}
		left, d.asked = append(left, r.At.Sub(d.began)), i+1
	}
	require.Len(t, left, len(free))
	slices.Sort(left)
	d.median, d.last = left[len(left)/2], left[len(left)-1]
	if len(more) > 0 {
		return d // the drain goes on
	}
	require.True(t, p.Terminate(soon))
	taint(`{"spec":{"taints":null}}`)
	return d
}

// evictions returns those that a user has requested, in the order of the answers.
func (c *cluster) evictions(t *testing.T, user string) (some []Request) {
	t.Helper()
	all, err := c.plane.Requests(user)
	require.NoError(t, err)
	for _, r := range all {
		if r.Verb == "create" && r.Resource == "pods/eviction" {
			some = append(some, r)
		}
	}
	return some
}

func guardedName(i int) string { return fmt.Sprint("guarded-", i) }

// guard makes pods of one controller on all nodes, protected by a budget that allows no disruption.
func (c *cluster) guard(t *testing.T) map[string]types.UID {
	t.Helper()
	nodes, yes := c.Nodes(), true
	var pods []*v1.Pod
	for i := range guardedPods {
		pod := c.Pod(guardedName(i), nodes[i%len(nodes)])
		pod.Labels["budget"] = "yes"
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "guarded", UID: "00000000-0000-4000-8000-000000000001", Controller: &yes}}
		pods = append(pods, pod)
	}
	require.NoError(t, each(pods, func(pod *v1.Pod) error {
		_, err := c.client.CoreV1().Pods(pod.Namespace).Create(c.ctx, pod, metav1.CreateOptions{})
		return err
	}))
	uids := map[string]types.UID{}
	c.wait(t, 3*soon, func(now *Now) string {
		for _, pod := range pods {
			made := now.Pod(pod.Name)
			if made == nil || !podReady(made) {
				return pod.Name + " is not ready"
			}
			uids[pod.Name] = made.UID
		}
		return ""
	})
	c.budget(t, guardedName(0))
	return uids
}
