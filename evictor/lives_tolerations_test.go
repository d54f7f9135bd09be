package evictor_test

import (
	v1 "k8s.io/api/core/v1"
)

// livesTolerations is one of the lists that pods have. In half of them the tolerations of our two taints differ.
func livesTolerations(number int) []v1.Toleration {
	exists := func(key string, seconds int64) v1.Toleration {
		t := v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
		if seconds >= 0 {
			t.TolerationSeconds = &seconds
		}
		return t
	}
	differ := func(notReady, unreachable int64) []v1.Toleration {
		return []v1.Toleration{exists(v1.TaintNodeNotReady, notReady), exists(v1.TaintNodeUnreachable, unreachable)}
	}
	both := func(seconds int64) []v1.Toleration { return differ(seconds, seconds) }
	lists := [][]v1.Toleration{
		nil,
		both(60),
		append(both(300), exists("maintenance", 120)),
		{exists("", -1)},
		append(both(0), exists("maintenance", 30)),
		append(both(200), v1.Toleration{Key: "maintenance", Operator: v1.TolerationOpEqual, Value: "a"}),
		append(both(20), exists("maintenance", 200), exists("maintenance", 5)),
		{exists(v1.TaintNodeNotReady, 100), exists(v1.TaintNodeUnreachable, 30), exists("", 250)},
		append(both(-1), exists("maintenance", 60), exists("repair", 90)),
		differ(60, 240),
		differ(240, 30),
		append(differ(-1, 90), exists("maintenance", 60)),
		differ(90, -1),
		{exists(v1.TaintNodeNotReady, 70)},
		{exists(v1.TaintNodeUnreachable, 250)},
		{exists(v1.TaintNodeUnreachable, -1)},
		{exists(v1.TaintNodeNotReady, -1), exists("maintenance", 200)},
		differ(0, 150),
		differ(150, 0),
		{exists(v1.TaintNodeUnreachable, 220), exists("", 50)}, // the second one is for not-ready alone
		{exists(v1.TaintNodeNotReady, 40), exists(v1.TaintNodeNotReady, 400), exists(v1.TaintNodeUnreachable, 160)},
	}
	return lists[number%len(lists)]
}
