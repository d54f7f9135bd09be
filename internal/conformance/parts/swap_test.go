package parts

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/evictkit/evictkit/evictor/evictortest"
	ours "github.com/evictkit/evictkit/evictor/tainteviction"
)

// tolerated is for how many seconds a pod tolerates a taint.
type tolerated int64

const (
	forEver tolerated = -1
	none    tolerated = -2
)

func (d tolerated) of(key string) []v1.Toleration {
	toleration := evictortest.TolerateFor(key, int64(d))
	switch d {
	case none:
		return nil
	case forEver:
		toleration.TolerationSeconds = nil
	}
	return []v1.Toleration{toleration}
}

// swapped is an outage: the taint unreachable at 0s, and then swaps with not-ready, back, and so on.
type swapped []time.Duration

// swaps are the columns of the table: a node is off for twenty minutes, and its kubelet reports NotReady for 15 seconds before it
// falls silent again, and starts again.
var swaps = []swapped{
	{20 * time.Minute},
	{20 * time.Minute, 20*time.Minute + 15*time.Second},
	{20 * time.Minute, 20*time.Minute + 15*time.Second, 22 * time.Minute},
}

// byTheRule returns when a pod leaves that tolerates unreachable and not-ready for so long: when its current toleration has run
// since the last swap, or the longer of both since the outage began, whichever is first.
func (s swapped) byTheRule(tolerates [2]tolerated) string {
	of := func(d tolerated) time.Duration {
		if d == forEver {
			return math.MaxInt64
		}
		return time.Duration(max(d, 0)) * time.Second
	}
	for i, from := range append(swapped{0}, s...) {
		current, other := of(tolerates[i%2]), of(tolerates[(i+1)%2])
		leaves := min(max(current, other), from+current)
		if current == math.MaxInt64 {
			leaves = current
		}
		if i == len(s) || leaves <= s[i] {
			return brief(leaves)
		}
	}
	panic("the last one returns")
}

// write is what the taints of the node are from a time on.
type write struct {
	at     time.Duration
	taints []v1.Taint
}

// writes returns the writes of an outage. A lifecycle half of ours swaps in one write and keeps the time. That of
// kube-controller-manager adds the new taint, with a time of its own, and then removes the old one.
func (s swapped) writes(two bool) (all []write) {
	taint := func(key string, at time.Duration) v1.Taint {
		added := metav1.NewTime(evictortest.Epoch.Add(at))
		return v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute, TimeAdded: &added}
	}
	keys := []string{v1.TaintNodeUnreachable, v1.TaintNodeNotReady}
	before := taint(keys[0], 0)
	all = append(all, write{0, []v1.Taint{before}})
	for i, at := range s {
		key := keys[(i+1)%2]
		if !two {
			all = append(all, write{at, []v1.Taint{taint(key, 0)}})
			continue
		}
		after := taint(key, at)
		all = append(all, write{at, []v1.Taint{before, after}}, write{at + time.Second, []v1.Taint{after}})
		before = after
	}
	return all
}

// lasts is how long each outage is watched.
const lasts = 4 * time.Hour

// upstreamEvicts returns when upstream's controller deletes a pod with these tolerations.
func upstreamEvicts(t *testing.T, tolerations []v1.Toleration, writes []write) (when string) {
	when = brief(math.MaxInt64)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Spec: v1.PodSpec{NodeName: "n", Tolerations: tolerations}}
		client := fake.NewSimpleClientset(node, pod)
		begin := time.Now()
		client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) {
			when = brief(time.Since(begin))
			return false, nil, nil
		})
		factory := informers.NewSharedInformerFactory(client, 0)
		pods := factory.Core().V1().Pods()
		byNode := func(object any) ([]string, error) { return []string{object.(*v1.Pod).Spec.NodeName}, nil }
		require.NoError(t, pods.Informer().AddIndexers(cache.Indexers{"spec.nodeName": byNode})) // as the other half of it does
		c, err := tainteviction.New(ctx, client, pods, factory.Core().V1().Nodes(), "taint-eviction-controller")
		require.NoError(t, err)
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		synctest.Wait()
		begin = time.Now()
		for _, w := range writes {
			time.Sleep(w.at - time.Since(begin))
			node = node.DeepCopy()
			node.Spec.Taints = w.taints
			_, err := client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
			require.NoError(t, err)
			synctest.Wait()
		}
		time.Sleep(lasts)
		stop()
		<-done
		factory.Shutdown()
	})
	return when
}

// ourHalfEvicts does the same with our half that evicts, alone, which takes taints for orders.
func ourHalfEvicts(t *testing.T, tolerations []v1.Toleration, writes []write) (when string) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	c.AddPod("p", "a-0", tolerations...)
	when = brief(math.MaxInt64)
	clients := c.Clients()
	half, err := ours.New(ours.DefaultConfig(), ours.Clients{Nodes: clients.Nodes, Pods: clients.Pods, Evicter: clients.PodWriter, Source: clients.Source}, ours.Options{
		Clock: c.Clock(), Observer: func(d ours.Decision) {
			if d.Kind == ours.PodEvicted {
				when = brief(d.Time.Sub(evictortest.Epoch))
			}
		},
	})
	require.NoError(t, err)
	c.Drive(half.Step)
	var before []v1.Taint
	for _, w := range writes {
		c.Advance(w.at - c.Clock().Since(evictortest.Epoch))
		for _, taint := range before {
			c.Untaint("a-0", taint.Key, taint.Effect)
		}
		for _, taint := range w.taints {
			c.Taint("a-0", taint)
		}
		before = w.taints
	}
	c.Advance(lasts)
	return when
}

// brief writes a time as the table does.
func brief(d time.Duration) string {
	if d == math.MaxInt64 {
		return "stays"
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// row is one of the table: how long a pod tolerates unreachable and not-ready, and when it leaves after each of swaps.
type row struct {
	tolerates      [2]tolerated
	upstream, ours [3]string
}

// table reads the table of the page.
func table(t *testing.T) (rows []row) {
	page, err := os.ReadFile("../../../evictor/WHY.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## A swap of the two taints\n")
	require.True(t, found)
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 5 || cells[0] == "---" || cells[0] == "unreachable" {
			continue
		}
		var r row
		for i, cell := range cells[:2] {
			switch cell {
			case "for ever":
				r.tolerates[i] = forEver
			case "not":
				r.tolerates[i] = none
			default:
				d, err := time.ParseDuration(cell)
				require.NoError(t, err)
				r.tolerates[i] = tolerated(d.Seconds())
			}
		}
		for i, cell := range cells[2:] {
			var both bool
			r.upstream[i], r.ours[i], both = strings.Cut(cell, ", ours ")
			if !both {
				r.ours[i] = r.upstream[i]
			}
		}
		rows = append(rows, r)
	}
	require.Len(t, rows, 9)
	return rows
}

func (r *row) tolerations() []v1.Toleration {
	return slices.Concat(r.tolerates[0].of(v1.TaintNodeUnreachable), r.tolerates[1].of(v1.TaintNodeNotReady))
}

// Upstream's controller does what the table says, whether a swap is one write or two.
func TestUpstreamSwaps(t *testing.T) {
	for _, r := range table(t) {
		for i, s := range swaps {
			for _, two := range []bool{false, true} {
				require.Equal(t, r.upstream[i], upstreamEvicts(t, r.tolerations(), s.writes(two)), "%v, %v, two writes: %t", r.tolerates, s, two)
			}
		}
	}
}

// The table says of us what the rule says.
func TestTheTableOfSwapsFollowsTheRule(t *testing.T) {
	for _, r := range table(t) {
		for i, s := range swaps {
			require.Equal(t, s.byTheRule(r.tolerates), r.ours[i], "%v, %v", r.tolerates, s)
		}
	}
}

// And so does our half that evicts, whether a swap is one write or two.
func TestOurHalfSwaps(t *testing.T) {
	for _, r := range table(t) {
		for i, s := range swaps {
			for _, two := range []bool{false, true} {
				assert.Equal(t, r.ours[i], ourHalfEvicts(t, r.tolerations(), s.writes(two)), "%v, %v, two writes: %t", r.tolerates, s, two)
			}
		}
	}
}
