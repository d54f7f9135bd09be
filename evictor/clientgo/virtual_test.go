//go:build go1.25

package clientgo_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/clientgo/clientgotest"
	"github.com/evictkit/evictkit/evictor/explain"
)

// A test of one's own program, in virtual time: in a bubble of testing/synctest, on a fake clientset, the minutes of
// tolerations take milliseconds.
func Example_virtualTime() {
	bubble(func(t *testing.T) { // func TestANodeGoesSilent(t *testing.T) { synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := clientgotest.NewClientset(node("a-0"), node("a-1"), node("a-2"), tolerant("shop", "cart", "a-0"))
		cluster, err := clientgo.New(client, clientgo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		why := explain.New(1000)
		e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{Observer: why})
		if err != nil {
			t.Fatal(err)
		}
		ran := make(chan error)
		go func() { ran <- e.Run(ctx) }() // your program

		began := time.Now()
		kubelets(t, client, time.Minute, "a-0", "a-1", "a-2") // all is well for a minute
		kubelets(t, client, 10*time.Minute, "a-1", "a-2")     // then a-0 is silent
		fmt.Println("after", time.Since(began), podsOf(t, client))
		for _, entry := range why.Explain("shop/cart") {
			switch entry.Kind {
			case "NodeVerdict", "EvictionArmed", "PodEvicted":
				fmt.Println(entry.Time.Sub(began).Round(time.Minute), entry.Kind)
			}
		}
		cancel()
		<-ran // before the bubble ends all of it must have ended
	})
	// Output:
	// after 11m0s []
	// 2m0s NodeVerdict
	// 2m0s EvictionArmed
	// 7m0s PodEvicted
}

// tolerant is a pod with the tolerations that an API server adds.
func tolerant(namespace, name, on string) *v1.Pod {
	p, seconds := pod(name, on), int64(300)
	p.Namespace = namespace
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
	return p
}

// kubelets lets so much time pass in which those of these nodes renew their leases.
func kubelets(t *testing.T, client kubernetes.Interface, d time.Duration, nodes ...string) {
	t.Helper()
	for ; d > 0; d -= 10 * time.Second {
		require.NoError(t, clientgotest.Renew(t.Context(), client, nodes...))
		time.Sleep(10 * time.Second)
	}
	synctest.Wait()
}

func podsOf(t *testing.T, client kubernetes.Interface) (names []string) {
	t.Helper()
	list, err := client.CoreV1().Pods(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// bubble is the test that an example has not: once, without a word of its own, and whatever tests are to be skipped.
func bubble(body func(t *testing.T)) {
	for name, is := range map[string]string{"test.v": "false", "test.skip": ""} {
		of := flag.Lookup(name).Value
		was := of.String()
		_ = of.Set(is)
		defer func() { _ = of.Set(was) }()
	}
	var once sync.Once
	all := func(string, string) (bool, error) { return true, nil }
	testing.RunTests(all, []testing.InternalTest{{Name: "Example", F: func(t *testing.T) { once.Do(func() { synctest.Test(t, body) }) }}})
}

// TestVirtualMinutesAreRealMilliseconds, the whole of them alike each time.
func TestVirtualMinutesAreRealMilliseconds(t *testing.T) {
	began := time.Now()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			client := clientgotest.NewClientset(node("a-0"), node("a-1"), node("a-2"), tolerant("shop", "cart", "a-0"))
			cluster, err := clientgo.New(client, clientgo.Options{})
			require.NoError(t, err)
			var undone []explain.Entry
			runOn(t, cluster, evictor.Options{Observer: explain.Observer(func(e explain.Entry) {
				if e.Kind == "EvictionCancelled" || e.Kind == "TaintsWritten" && strings.Contains(e.Text, "removed") {
					undone = append(undone, e)
				}
			})})
			kubelets(t, client, time.Minute, "a-0", "a-1", "a-2")
			kubelets(t, client, 5*time.Minute, "a-1", "a-2")
			require.Equal(t, []string{"cart"}, podsOf(t, client))
			kubelets(t, client, time.Minute, "a-1", "a-2")
			require.Empty(t, podsOf(t, client))
			require.Empty(t, undone, "nothing that was written is seen as it was before")
		})
	}
	require.Less(t, time.Since(began), 20*time.Second, "140 minutes")
}
