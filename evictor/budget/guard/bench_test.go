package guard

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
)

// BenchmarkSeen: the evictor reads a node. "unchanged" is what nearly all reads show; "changes" has its readiness change
// each time. A shortcut for what is unchanged has been tried: the guard and the budget do not become faster by it.
func BenchmarkSeen(b *testing.B) {
	for _, changes := range []bool{false, true} {
		b.Run(map[bool]string{false: "unchanged", true: "changes"}[changes], func(b *testing.B) {
			opts, objects := seenNodes(b)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				object := objects[i%len(objects)]
				if changes {
					ready := &object.Status.Conditions[0].Status
					*ready = map[v1.ConditionStatus]v1.ConditionStatus{v1.ConditionTrue: v1.ConditionFalse, v1.ConditionFalse: v1.ConditionTrue}[*ready]
				}
				opts.Hold(object)
			}
		})
	}
}

// seenNodes are 10,000 in three zones and 100 racks, under five bounds.
func seenNodes(b *testing.B) (evictor.Options, []*v1.Node) {
	b.Helper()
	label := func(key string) func(Member) (string, bool) {
		return func(m Member) (string, bool) { name, has := m.Labels[key]; return name, has }
	}
	limits, err := budget.New(budget.Config[string, Member]{
		Dimensions: map[string]func(Member) (string, bool){"zone": label(v1.LabelTopologyZone), "rack": label("rack")},
		Bad:        func(m Member) bool { return !m.Ready },
		Bounds: []budget.Bound{
			{Name: "rack", Per: "rack", Of: budget.Unavailable, Max: budget.Percent(50).Up()},
			{Name: "zone", Per: "zone", Of: budget.Healthy, Min: budget.Percent(20)},
			{Name: "zone storm", Per: "zone", Of: budget.Bad, Max: budget.Percent(70), Quiet: time.Minute},
			{Name: "storm", Of: budget.Bad, Max: budget.Percent(70), Quiet: time.Minute},
			{Name: "recent", Per: "zone", Of: budget.Recent, Max: budget.Count(1 << 40), Within: time.Hour},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(limits, evictor.DefaultConfig().Nodes, Options{})
	if err != nil {
		b.Fatal(err)
	}
	opts, objects := g.On(evictor.Options{}), make([]*v1.Node, 10_000)
	for i := range objects {
		name := fmt.Sprintf("node-%05d", i)
		objects[i] = &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelTopologyZone: fmt.Sprint("zone-", i%3), "rack": fmt.Sprint("rack-", i%100)}},
			Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
		}
		opts.Hold(objects[i])
	}
	return opts, objects
}
