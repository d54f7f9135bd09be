package parts

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/controller"
	controllerutil "k8s.io/kubernetes/pkg/controller/util/node"
	taintutils "k8s.io/kubernetes/pkg/util/taints"

	"github.com/evictkit/evictkit/taints"
)

// patched are two clusters with one node each. Each side patches one of them.
type patched struct {
	*testing.T
	*script
	fired          fired
	ours, upstream *fake.Clientset
}

var ownKeys = []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable}

func runPatches(t *testing.T, s *script, f fired) {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "uid", ResourceVersion: "7", Labels: map[string]string{"a": "b"}},
		Spec:       v1.NodeSpec{ProviderID: "id", Unschedulable: true},
	}
	p := &patched{t, s, f, fake.NewSimpleClientset(node.DeepCopy()), fake.NewSimpleClientset(node.DeepCopy())}
	for !s.over() {
		s.sleep(1, 1500*time.Millisecond, time.Minute)
		switch s.below(4) {
		case 0:
			p.add()
		case 1:
			p.remove()
		case 2:
			p.swap(v1.TaintEffectNoExecute, taints.OwnNoExecute)
		case 3:
			p.swap(v1.TaintEffectNoSchedule, taints.OwnNoSchedule)
		}
		p.compare()
	}
}

func (p *patched) node(c *fake.Clientset) *v1.Node {
	node, err := c.CoreV1().Nodes().Get(p.Context(), "node", metav1.GetOptions{})
	require.NoError(p, err)
	return node
}

// write makes our write.
func (p *patched) write(c taints.Change) {
	if c.Empty() {
		return
	}
	node := p.node(p.ours)
	body, err := c.Patch(node.Spec.Taints, node.UID, node.ResourceVersion, time.Now())
	require.NoError(p, err)
	_, err = p.ours.CoreV1().Nodes().Patch(p.Context(), "node", types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(p, err)
}

// some returns random taints of ours and of others, no two with the same key and effect.
func (p *patched) some(timed bool) (list []v1.Taint) {
	for range 1 + p.below(3) {
		taint := v1.Taint{
			Key: pick(p.script, "a", "b", v1.TaintNodeNotReady, v1.TaintNodeUnreachable), Value: pick(p.script, "", "", "v"),
			Effect: pick(p.script, v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule),
		}
		if timed && (taint.Effect == v1.TaintEffectNoExecute || p.oneIn(2)) { // only swap covers NoExecute taints without a time
			taint.TimeAdded = &metav1.Time{Time: time.Now().Truncate(time.Second)}
		}
		if !taintutils.TaintExists(list, &taint) {
			list = append(list, taint)
		}
	}
	return list
}

func pointers(list []v1.Taint) (to []*v1.Taint) {
	for i := range list {
		to = append(to, list[i].DeepCopy())
	}
	return to
}

func (p *patched) add() {
	list, before := p.some(true), p.node(p.ours).Spec.Taints
	require.NoError(p, controller.AddOrUpdateTaintOnNode(p.Context(), p.upstream, "node", pointers(list)...))
	p.write(taints.Change{Add: list})
	p.keepTimes(list, before)
}

func (p *patched) remove() {
	list := p.some(false)
	require.NoError(p, controller.RemoveTaintOffNode(p.Context(), p.upstream, "node", p.node(p.upstream), pointers(list)...))
	p.write(taints.Change{Remove: list})
}

// swap replaces the managed taints by the wanted ones, as upstream's passes do.
func (p *patched) swap(effect v1.TaintEffect, managed func(*v1.Taint) bool) {
	var want []v1.Taint
	for _, key := range ownKeys {
		if p.oneIn(2) {
			want = append(want, v1.Taint{Key: key, Effect: effect})
		}
	}
	if len(want) > 1 && effect == v1.TaintEffectNoExecute {
		want = want[:1] // never both
	}
	node := p.node(p.upstream)
	have := taintutils.TaintSetFilter(node.Spec.Taints, managed)
	add, remove := taintutils.TaintSetDiff(want, have)
	before := p.node(p.ours).Spec.Taints
	change, corrected := taints.Diff(before, want, managed), 0
	for i := range want { // upstream ignores values
		for j := range have {
			if want[i].MatchTaint(&have[j]) && want[i].Value != have[j].Value {
				p.fired[valueCorrected]++
				corrected++ // the old one is in Remove too
				add = append(add, want[i].DeepCopy())
			}
		}
	}
	require.Len(p, change.Add, len(add))
	for i := range add {
		require.True(p, taintutils.TaintExists(change.Add, add[i]))
	}
	require.Len(p, change.Remove, len(remove)+corrected)
	calls := len(p.upstream.Actions())
	require.True(p, controllerutil.SwapNodeControllerTaint(p.Context(), p.upstream, pointers(change.Add), remove, node))
	writes := 0
	for _, action := range p.upstream.Actions()[calls:] {
		if action.GetVerb() == "patch" {
			writes++
		}
	}
	if writes > 1 {
		p.fired[oneWrite]++
	} else {
		require.Equal(p, change.Empty(), writes == 0)
	}
	p.write(change)
	p.keepTimes(change.Add, before)
}

// keepTimes copies our times to upstream's added taints, if a rule says that they differ.
func (p *patched) keepTimes(added, before []v1.Taint) {
	theirs, ours := p.node(p.upstream), p.node(p.ours)
	for i := range theirs.Spec.Taints {
		a := &theirs.Spec.Taints[i]
		for _, b := range ours.Spec.Taints {
			if !a.MatchTaint(&b) || a.TimeAdded.Equal(b.TimeAdded) || !taintutils.TaintExists(added, a) {
				continue
			}
			switch {
			case slices.ContainsFunc(before, func(was v1.Taint) bool { return equality.Semantic.DeepEqual(was, b) }):
				p.fired[timeKept]++
			case b.TimeAdded == nil && b.Effect != v1.TaintEffectNoExecute:
				p.fired[untimed]++
			case taints.OwnNoExecute(&b) && slices.ContainsFunc(before, func(was v1.Taint) bool { return taints.OwnNoExecute(&was) && was.TimeAdded.Equal(b.TimeAdded) }):
				p.fired[swapKeepsTime]++
			default:
				continue
			}
			a.TimeAdded = b.TimeAdded
		}
	}
	_, err := p.upstream.CoreV1().Nodes().Update(p.Context(), theirs, metav1.UpdateOptions{})
	require.NoError(p, err)
}

func (p *patched) compare() {
	theirs, ours := p.node(p.upstream), p.node(p.ours)
	require.True(p, equality.Semantic.DeepEqual(theirs, ours), "upstream %+v\nours     %+v", theirs.Spec.Taints, ours.Spec.Taints)
}

func TestPatchesAreUpstreams(t *testing.T) {
	f := fired{}
	inBubbles(t, 150, 150, func(t *testing.T, s *script) { runPatches(t, s, f) })
	f.requireAll(t, patchRules...)
}
