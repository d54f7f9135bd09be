package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// scenes are measured over this many virtual minutes, or over one when they are large.
const (
	minutes = 5
	large   = 5000
)

func passRows(s setting, n int) []row {
	span := time.Minute
	if n < large {
		span *= minutes
	}
	beating := func(work string, h heartbeats, times int) row {
		alone := quiet(s, n, h, span, newNobody).per(times)
		r := row{work: work + "; storing alone takes " + duration(alone.cpu), n: n}
		r.ours, r.upstream = pair(s.scenes(n), func() cost { return quiet(s, n, h, span, newOurs).per(times) },
			func() cost { return quiet(s, n, h, span, newUpstream).per(times) })
		return r
	}
	leases, reports := heartbeats{renew: usual.renew}, heartbeats{report: usual.renew}
	beats := n * int(span/usual.renew)
	return []row{
		beating("monitor pass with its heartbeats", usual, int(span/monitorPeriod)),
		beating("heartbeat by lease", leases, beats),
		beating("heartbeat by status report", reports, beats),
	}
}

// quiet returns the cost of a span with nothing but heartbeats.
func quiet(s setting, n int, h heartbeats, span time.Duration, b build) (c cost) {
	synctest.Test(s.T, func(t *testing.T) {
		f := &fleet{names: nodeNames(n)}
		scene := newScene(t, newClient(), b)
		defer scene.stop()
		nodes, pods := scene.factory.Core().V1().Nodes().Informer().GetIndexer(), scene.factory.Core().V1().Pods().Informer().GetIndexer()
		k := &kubelets{
			fleet:      f,
			heartbeats: h,
			leases:     scene.factory.Coordination().V1().Leases().Informer().GetIndexer(),
			told:       scene.side.leaseRenewed,
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
			if h.renew != 0 {
				k.renew(i)
			}
			for p := range podsPerNode {
				if err := pods.Add(f.pod(i, p)); err != nil {
					t.Error(err)
				}
			}
		}
		scene.start()
		scene.pass(k, 2*monitorPeriod+monitorPeriod/2)
		synctest.Wait()
		c = spent(func() {
			scene.pass(k, span)
			synctest.Wait()
		})
		for _, action := range scene.client.Actions() {
			if action.GetVerb() != "list" && action.GetVerb() != "watch" {
				t.Errorf("nothing was to be written: %v", action)
				break
			}
		}
	})
	return c
}
