package taints

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	now       = time.Date(2026, 3, 4, 12, 0, 7, 123_456_789, time.UTC)
	inSeconds = metav1.NewTime(time.Date(2026, 3, 4, 12, 0, 7, 0, time.UTC))
	earlier   = metav1.NewTime(now.Add(-time.Hour).Truncate(time.Second))
	before    = metav1.NewTime(now.Add(-2 * time.Hour).Truncate(time.Second))

	notReady    = v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}
	unreachable = v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
	disk        = v1.Taint{Key: v1.TaintNodeDiskPressure, Effect: v1.TaintEffectNoSchedule}
	memory      = v1.Taint{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoSchedule}
	theirs      = v1.Taint{Key: "example.com/theirs", Value: "x", Effect: v1.TaintEffectNoSchedule}
	evicting    = v1.Taint{Key: "example.com/evicting", Value: "x", Effect: v1.TaintEffectNoExecute}
)

func since(t v1.Taint, at metav1.Time) v1.Taint {
	t.TimeAdded = &at
	return t
}

func valued(t v1.Taint, value string) v1.Taint {
	t.Value = value
	return t
}

func list(taints ...v1.Taint) []v1.Taint { return taints }

// untimed returns the taints without their times.
func untimed(list []v1.Taint) []v1.Taint {
	list = slices.Clone(list)
	for i := range list {
		list[i].TimeAdded = nil
	}
	return list
}

func TestDiff(t *testing.T) {
	for name, row := range map[string]struct {
		have, want []v1.Taint
		managed    func(*v1.Taint) bool
		change     Change
	}{
		"nothing":                         {nil, nil, OwnNoSchedule, Change{}},
		"already so":                      {list(theirs, disk), list(disk), OwnNoSchedule, Change{}},
		"in another order":                {list(memory, disk), list(disk, memory), OwnNoSchedule, Change{}},
		"add":                             {list(theirs), list(disk), OwnNoSchedule, Change{Add: list(disk)}},
		"remove, but not theirs":          {list(theirs, disk, notReady), nil, OwnNoSchedule, Change{Remove: list(disk)}},
		"both":                            {list(disk), list(memory), OwnNoSchedule, Change{Add: list(memory), Remove: list(disk)}},
		"another effect is another taint": {list(v1.Taint{Key: disk.Key, Effect: v1.TaintEffectNoExecute}), list(disk), OwnNoSchedule, Change{Add: list(disk)}},
		"another value is replaced":       {list(valued(disk, "x")), list(disk), OwnNoSchedule, Change{Add: list(disk), Remove: list(valued(disk, "x"))}},
		"the time is not compared":        {list(since(notReady, earlier)), list(notReady), OwnNoExecute, Change{}},
		"a swap":                          {list(since(notReady, earlier)), list(unreachable), OwnNoExecute, Change{Add: list(unreachable), Remove: list(since(notReady, earlier))}},
		"nil manages everything":          {list(theirs, disk), list(disk), nil, Change{Remove: list(theirs)}},
		"what is wanted is managed":       {list(theirs), list(valued(theirs, "y"), evicting), OwnNoSchedule, Change{Add: list(valued(theirs, "y"), evicting), Remove: list(theirs)}},
		"wanted twice":                    {nil, list(disk, valued(disk, "x"), disk), OwnNoSchedule, Change{Add: list(disk)}},
		"wanted twice, and there":         {list(disk), list(disk, valued(disk, "x")), OwnNoSchedule, Change{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Diff(row.have, row.want, row.managed)
			require.Equal(t, row.change, got)
			kept := slices.DeleteFunc(slices.Clone(row.have), func(t v1.Taint) bool { return find(got.Remove, &t) >= 0 })
			require.ElementsMatch(t, untimed(got.Apply(row.have, now)), untimed(append(kept, got.Add...)), "who applies it by hand gets the same")
			require.Equal(t, len(row.change.Add)+len(row.change.Remove) == 0, got.Empty())
		})
	}
}

func TestApply(t *testing.T) {
	for name, row := range map[string]struct {
		have   []v1.Taint
		change Change
		want   []v1.Taint
	}{
		"nothing":                        {nil, Change{}, []v1.Taint{}},
		"no change":                      {list(theirs, since(notReady, earlier)), Change{}, list(theirs, since(notReady, earlier))},
		"new ones come last":             {list(theirs), Change{Add: list(disk, memory)}, list(theirs, disk, memory)},
		"the rest keeps its order":       {list(disk, theirs, memory, evicting), Change{Remove: list(memory, disk)}, list(theirs, evicting)},
		"removing what is not there":     {list(theirs), Change{Remove: list(disk)}, list(theirs)},
		"removing asks not for value":    {list(valued(disk, "x")), Change{Remove: list(disk)}, []v1.Taint{}},
		"a replaced one keeps its place": {list(valued(disk, "x"), theirs), Change{Add: list(disk)}, list(disk, theirs)},
		"in both lists is replaced":      {list(disk, theirs), Change{Add: list(valued(disk, "x")), Remove: list(disk)}, list(valued(disk, "x"), theirs)},
		"adding what is there":           {list(since(evicting, earlier)), Change{Add: list(since(evicting, before))}, list(since(evicting, earlier))},
		"NoSchedule gets no time":        {nil, Change{Add: list(disk)}, list(disk)},
		"NoExecute gets now":             {nil, Change{Add: list(notReady, evicting)}, list(since(notReady, inSeconds), since(evicting, inSeconds))},
		"a time given stays":             {list(since(unreachable, before)), Change{Add: list(since(notReady, earlier))}, list(since(unreachable, before), since(notReady, earlier))},
		"replaced NoExecute gets now":    {list(since(evicting, earlier)), Change{Add: list(valued(evicting, "y"))}, list(since(valued(evicting, "y"), inSeconds))},
		"a swap is one outage":           {list(since(notReady, earlier), theirs), Change{Add: list(unreachable), Remove: list(notReady)}, list(theirs, since(unreachable, earlier))},
		"and back":                       {list(since(unreachable, earlier)), Change{Add: list(notReady), Remove: list(unreachable)}, list(since(notReady, earlier))},
		"a swap of a taint without time": {list(notReady), Change{Add: list(unreachable), Remove: list(notReady)}, list(since(unreachable, inSeconds))},
		"of two the earlier": {list(since(notReady, earlier), since(valued(unreachable, "x"), before)), Change{Add: list(unreachable), Remove: list(notReady)},
			list(since(unreachable, before))},
		"an outage is not theirs": {list(since(notReady, earlier)), Change{Add: list(evicting), Remove: list(notReady)}, list(since(evicting, inSeconds))},
		"nor is theirs an outage": {list(since(evicting, earlier)), Change{Add: list(unreachable), Remove: list(evicting)}, list(since(unreachable, inSeconds))},
		"NoSchedule neither": {list(since(v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}, earlier)), Change{Add: list(unreachable)},
			list(since(v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}, earlier), since(unreachable, inSeconds))},
	} {
		t.Run(name, func(t *testing.T) {
			have := append([]v1.Taint(nil), row.have...)
			add := append([]v1.Taint(nil), row.change.Add...)
			require.Equal(t, row.want, row.change.Apply(row.have, now))
			require.Equal(t, have, append([]v1.Taint(nil), row.have...), "what it was given is not written")
			require.Equal(t, add, append([]v1.Taint(nil), row.change.Add...))
		})
	}
}

func TestApplySharesNoTime(t *testing.T) {
	have := list(since(notReady, earlier))
	got := Change{Add: list(unreachable), Remove: list(notReady)}.Apply(have, now)
	require.NotSame(t, have[0].TimeAdded, got[0].TimeAdded, "of two taints")
	two := Change{Add: list(notReady, evicting)}.Apply(nil, now)
	require.NotSame(t, two[0].TimeAdded, two[1].TimeAdded)
}

func TestPatch(t *testing.T) {
	have := list(theirs, since(notReady, earlier))
	body, err := Diff(have, list(unreachable), OwnNoExecute).Patch(have, "uid-1", "42", now)
	require.NoError(t, err)
	require.JSONEq(t, `{"metadata":{"uid":"uid-1","resourceVersion":"42"},"spec":{"taints":[
		{"key":"example.com/theirs","value":"x","effect":"NoSchedule"},
		{"key":"node.kubernetes.io/unreachable","effect":"NoExecute","timeAdded":"2026-03-04T11:00:07Z"}]}}`, string(body))

	body, err = Change{Remove: list(disk)}.Patch(list(disk), "", "", now)
	require.NoError(t, err)
	require.JSONEq(t, `{"metadata":{},"spec":{"taints":[]}}`, string(body), "an empty list clears, null would not say so")
}
