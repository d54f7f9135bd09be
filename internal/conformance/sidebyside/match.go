package main

import (
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"github.com/evictkit/evictkit/taints"
)

// typical: a failed node of a dedicated pool, and a pod with two tolerations of its own and the two that
// admission adds. Every string has its own bytes, as decoding makes them.
func typical() ([]v1.Taint, []v1.Toleration) {
	seconds := int64(300)
	return decoded([]v1.Taint{
		{Key: "example.com/dedicated", Value: "batch", Effect: v1.TaintEffectNoExecute},
		{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute},
	}, []v1.Toleration{
		{Key: "example.com/dedicated", Operator: v1.TolerationOpEqual, Value: "batch"},
		{Key: v1.TaintNodeMemoryPressure, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule},
		{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds},
		{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds},
	})
}

// adverse: what matches comes last, after the same key with another effect or value.
func adverse() ([]v1.Taint, []v1.Toleration) {
	later, sooner := int64(600), int64(300)
	return decoded([]v1.Taint{
		{Key: "example.com/dedicated-b", Value: "batch", Effect: v1.TaintEffectNoExecute},
		{Key: "example.com/dedicated-a", Value: "batch", Effect: v1.TaintEffectNoExecute},
	}, []v1.Toleration{
		{Key: "example.com/dedicated-a", Operator: v1.TolerationOpEqual, Value: "other", Effect: v1.TaintEffectNoExecute},
		{Key: "example.com/dedicated-b", Operator: v1.TolerationOpEqual, Value: "batch", Effect: v1.TaintEffectNoSchedule},
		{Key: "example.com/dedicated-a", Operator: v1.TolerationOpEqual, Value: "batch", TolerationSeconds: &later},
		{Key: "example.com/dedicated-b", Operator: v1.TolerationOpEqual, Value: "batch", Effect: v1.TaintEffectNoExecute, TolerationSeconds: &sooner},
	})
}

func decoded(taints []v1.Taint, tolerations []v1.Toleration) ([]v1.Taint, []v1.Toleration) {
	own := func(s *string) { *s = string([]byte(*s)) }
	for i := range taints {
		own(&taints[i].Key)
		own(&taints[i].Value)
		own((*string)(&taints[i].Effect))
	}
	for i := range tolerations {
		own(&tolerations[i].Key)
		own(&tolerations[i].Value)
		own((*string)(&tolerations[i].Effect))
		own((*string)(&tolerations[i].Operator))
	}
	return taints, tolerations
}

func matchRows(s setting, n int) (rows []row) {
	logger := logr.Discard()
	order := anyOrder(n)
	for _, c := range []struct {
		name string
		of   func() ([]v1.Taint, []v1.Toleration)
	}{{"typical", typical}, {"adverse", adverse}} {
		of, _ := c.of()
		pods := make([][]v1.Toleration, n)
		for i := range pods {
			_, pods[i] = c.of()
		}
		matched := row{work: "toleration match, " + c.name, n: n}
		matched.ours, matched.upstream = pair(s.runs, func() cost {
			return s.operations(func(i int) {
				if stay := taints.Tolerate(taints.NoExecute(of), pods[order[i%len(order)]]); stay.For != 300*time.Second {
					s.Fatal(stay)
				}
			})
		}, func() cost {
			return s.operations(func(i int) {
				if ok, used := helper.GetMatchingTolerations(logger, of, pods[order[i%len(order)]]); !ok || len(used) != 2 {
					s.Fatal(used)
				}
			})
		})
		rows = append(rows, matched)
	}
	return rows
}
