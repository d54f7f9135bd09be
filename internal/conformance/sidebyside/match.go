package main

import (
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"github.com/evictkit/evictkit/internal/tolerationcases"
	"github.com/evictkit/evictkit/taints"
)

func matchRows(s setting, n int) (rows []row) {
	logger := logr.Discard()
	order := anyOrder(n)
	for _, c := range []struct {
		name string
		of   func() ([]v1.Taint, []v1.Toleration)
		stay time.Duration
	}{{"typical", tolerationcases.Typical, 300 * time.Second}, {"adverse", tolerationcases.Adverse, 30 * time.Second}} {
		of, _ := c.of()
		pods := make([][]v1.Toleration, n)
		for i := range pods {
			_, pods[i] = c.of()
		}
		matched := row{work: "toleration match, " + c.name, n: n}
		matched.ours, matched.upstream = pair(s.runs, func() cost {
			return s.operations(func(i int) {
				if stay := taints.Tolerate(of, pods[order[i%len(order)]], false); stay.For != c.stay {
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
