package main

import (
	"fmt"
	"math/rand"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/health"
)

const passesPerMinute = int(time.Minute / monitorPeriod)

func passRows(s setting, n int) []row {
	stored := minute(s, n, newNobody)
	a, b := minute(s, n, newOurs), minute(s, n, newUpstream)
	passes := float64(passesPerMinute)
	each := func(d time.Duration) measured {
		return measured{float64(d) / passes, short(float64(d)/passes) + " of CPU"}
	}
	beats := n*int(time.Minute/renewInterval) + n*int(time.Minute/tick)/int(reportInterval/tick)
	noted := float64(b-stored) / float64(beats)
	upstream := measured{noted, short(noted) + " of CPU"}
	renewal, report := noteRenewal(s, n), noteReport(s, n)
	return []row{
		{work: fmt.Sprintf("monitor pass with its heartbeats (%s of it to store them)", short(float64(stored)/passes)), n: n, ours: each(a), upstream: each(b)},
		{work: "heartbeat noted, lease renewal", n: n, ours: renewal, upstream: upstream},
		{work: "heartbeat noted, status report", n: n, ours: report, upstream: upstream},
	}
}

// minute is the least CPU time that a virtual minute takes.
func minute(s setting, n int, b build) (least time.Duration) {
	synctest.Test(s.T, func(t *testing.T) {
		f := &fleet{names: nodeNames(n)}
		scene := newScene(t, newClient(), b)
		defer scene.stop()
		nodes, pods := scene.factory.Core().V1().Nodes().Informer().GetIndexer(), scene.factory.Core().V1().Pods().Informer().GetIndexer()
		k := &kubelets{
			fleet:  f,
			leases: scene.factory.Coordination().V1().Leases().Informer().GetIndexer(),
			told:   scene.side.leaseRenewed,
			report: func(i int) {
				node := f.node(i)
				if err := nodes.Update(node); err != nil {
					t.Error(err)
				}
				scene.side.nodeStored(node.Name)
			},
			failed: func(int) bool { return false },
		}
		for i := range f.names {
			k.report(i)
			k.renew(i)
			for p := range podsPerNode {
				if err := pods.Add(f.pod(i, p)); err != nil {
					t.Error(err)
				}
			}
		}
		scene.start()
		scene.pass(k, 2*monitorPeriod+monitorPeriod/2)
		for run := range s.runs {
			synctest.Wait()
			runtime.GC()
			began := cpu()
			scene.pass(k, time.Minute)
			synctest.Wait()
			if took := cpu() - began; run == 0 || took < least {
				least = took
			}
		}
	})
	return least
}

// noteRenewal is one call and its share of the passes.
func noteRenewal(s setting, n int) measured {
	return note(s, n, func(m *health.Monitor, name string, _ **v1.Node, stamp time.Time) {
		m.ObserveRenewal(name, stamp)
	})
}

// noteReport is the same for the report of a node, which is there before.
func noteReport(s setting, n int) measured {
	return note(s, n, func(m *health.Monitor, _ string, at **v1.Node, stamp time.Time) {
		node := *at
		for i := range node.Status.Conditions {
			node.Status.Conditions[i].LastHeartbeatTime.Time = stamp
		}
		m.ObserveNode(node)
	})
}

// note lets one node after the other be heard of, all in the time of two passes.
func note(s setting, n int, beat func(m *health.Monitor, name string, node **v1.Node, stamp time.Time)) measured {
	begin := time.Now()
	clock := testingclock.NewFakePassiveClock(begin)
	c := health.DefaultConfig()
	c.Clock = clock
	m, err := health.NewMonitor(c)
	if err != nil {
		s.Fatal(err)
	}
	f := &fleet{names: nodeNames(n)}
	nodes, names := make([]*v1.Node, n), make([]string, n)
	for i, at := range rand.New(rand.NewSource(3)).Perm(n) {
		nodes[at], names[at] = f.node(i), f.names[i]
		m.ObserveNode(nodes[at])
	}
	m.Pass()
	beats := 0
	return operation(s.runs, func(int) {
		beats++
		beat(m, names[beats%n], &nodes[beats%n], begin.Add(time.Duration(beats)))
		if beats%((n+1)/2) == 0 {
			clock.SetTime(clock.Now().Add(monitorPeriod))
			if m.Pass() != nil {
				s.Fatal("a node was not heard of")
			}
		}
	})
}
