package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// mostUnplaced is the largest number of Unplaced in a report: those with the most pods.
const mostUnplaced = 20

// Unplaced says why pods with equal requirements found no node.
type Unplaced struct {
	Pods  int
	First string // namespace/name of the pod that has waited longest, or of the pod that it is to replace
	Nodes int    // in the cluster; none of them accepts the pods
	// Because counts nodes by the check that refused the pods: cordoned, "not Ready", taint, selector, "host port", a resource by its
	// name, "volume in use", volume, "topology spread" or "pod affinity". As in the scheduler, a node counts for the first
	// of these that refuses; for each resource that it lacks.
	Because map[string]int
	// Alone counts the nodes that refuse the pods by a single check, by the names of Because: without that check the pods
	// could go there. It is nil in a Report.
	Alone map[string]int
}

// String returns a short form such as "0/12 nodes: 8 taint, 4 cpu", with the largest counts first.
func (u *Unplaced) String() string {
	checks := slices.SortedFunc(maps.Keys(u.Because), func(a, b string) int {
		return cmp.Or(cmp.Compare(u.Because[b], u.Because[a]), cmp.Compare(a, b))
	})
	for i, check := range checks {
		checks[i] = fmt.Sprintf("%d %s", u.Because[check], check)
	}
	return strings.TrimSuffix(fmt.Sprintf("0/%d nodes: %s", u.Nodes, strings.Join(checks, ", ")), ": ")
}

// couldPreempt returns how many Pending pods at most would find a node if pods of lower priority left it.
func (c *cluster) couldPreempt() int {
	if c.waiting.count == 0 {
		return 0
	}
	return c.filters.CouldPreempt(func(yield func(*placement.Spec, int) bool) {
		for _, q := range c.waiting.unschedulable {
			if !yield(&q.pods[0].spec.Spec, len(q.pods)) {
				return
			}
		}
	})
}
