// Package swapped does not compile. Each wrong line ends with what the compiler says about it.
package swapped

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

func swapped(
	now time.Time, name string, uid types.UID, taint *v1.Taint, toleration *v1.Toleration,
	zones *zone.Tracker[string], monitor *health.Monitor, queue *ratelimitqueue.Queue[string, int],
	work *timedworker.Set[string, int], bounds *budget.Budget[string, string], e *evictor.Evictor,
) {
	zones.Set(name, "eu-1a", zone.Member{})                                           // want `cannot use "eu-1a"`
	_ = zone.Ruling{Rate: zone.Normal}                                                // want `cannot use zone.Normal`
	monitor.ObserveLease(now, name, "")                                               // want `cannot use now`
	monitor.Forget(uid, name)                                                         // want `cannot use uid`
	_ = queue.SetRate(10 * time.Second)                                               // want `cannot use 10 * time.Second`
	work.Schedule(name, now, 1)                                                       // want `cannot use now`
	taints.Tolerates(taint, toleration, false)                                        // want `cannot use taint`
	bounds.Judge(budget.Proved, name)                                                 // want `cannot use budget.Proved`
	_ = budget.Bound{Name: "one", Of: budget.Acting, Max: 1}                          // want `cannot use 1 `
	e.PodChanged("default/cart-1")                                                    // want `cannot use "default/cart-1"`
	_, _ = evictor.New(evictor.DefaultConfig(), evictor.Options{}, evictor.Clients{}) // want `cannot use evictor.Options{}`
}
