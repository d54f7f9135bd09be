package summary_test

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/evictor/nodepressure/summary"
)

// What would the kubelet do that gave this answer?
func Example() {
	body := []byte(`{"node":{"memory":{"availableBytes":73400320,"workingSetBytes":4221566976}},
		"pods":[{"podRef":{"uid":"uid-1"},"memory":{"workingSetBytes":900000000}},{"podRef":{"uid":"uid-2"},"memory":{"workingSetBytes":300000000}}]}`)
	pods := []*v1.Pod{pod("cart", "uid-1"), pod("search", "uid-2")}

	machine, err := nodepressure.New(nodepressure.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	joined, err := summary.Join(body, pods)
	if err != nil {
		fmt.Println(err)
		return
	}
	decision := machine.Observe(joined.Stats)
	fmt.Println(decision.Action, decision.Conditions)
	for _, eviction := range decision.Evictions {
		fmt.Println(eviction.Pod.Name, "goes:", strings.TrimSpace(eviction.Message))
	}
	// Output:
	// EvictPods [MemoryPressure]
	// cart goes: The node was low on resource: memory. Threshold quantity: 100Mi, available: 70Mi.
}
