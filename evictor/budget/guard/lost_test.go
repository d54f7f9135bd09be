package guard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
)

// lostAnswers say nothing about whether the API server did what it was asked.
var lostAnswers = map[string]error{
	"internal": apierrors.NewInternalError(errors.New("etcd: request timed out")), "timeout": apierrors.NewTimeoutError("slow", 0),
	"deadline": context.DeadlineExceeded, "network": errors.New("read: connection reset by peer"), "unavailable": apierrors.NewServiceUnavailable("x"),
}

// A taint is written, but its answer is lost. A bound of one action at a time holds all the same, whether one answer is lost
// or that of each node, and however late the store shows the taint.
func TestALostAnswerKeepsTheReservation(t *testing.T) {
	for name, err := range lostAnswers {
		for _, lag := range []time.Duration{0, time.Second, 3 * time.Second, 20 * time.Second} {
			for _, lost := range []int{1, 6} {
				w := newWorld(t)
				lose := map[string]bool{}
				for i := range 24 {
					w.create(fmt.Sprintf("%c-%d", 'a'+i/4, i%4), string(rune('a'+i/4)), "")
				}
				w.lag = lag
				w.lose = func(write, node string) error {
					if write == "taints" && carries(w.nodes[node]) && !lose[node] && len(lose) < lost {
						lose[node] = true
						return err
					}
					return nil
				}
				b, er := budget.New(budget.Config[string, guard.Member]{Clock: w.clock, Bounds: []budget.Bound{oneAtATime}})
				require.NoError(t, er)
				w.begin(evictor.DefaultConfig(), b, guard.Options{}, evictor.Options{})
				for s := range 360 {
					if s == 60 {
						for i := range 6 {
							w.failed[fmt.Sprintf("%c-0", 'a'+i)] = true
						}
					}
					w.step(time.Second)
					require.LessOrEqual(t, len(w.tainted()), 1, "%s, shown after %s, %d lost: %v after %d s", name, lag, lost, w.tainted(), s)
				}
				require.Len(t, w.tainted(), 1, name)
				require.NotEmpty(t, lose)
			}
		}
	}
}

// The end of an earlier turn that is reported late does not give back what a later one has reserved. Turns are told by the
// evictor's clock, from which the budget's may differ a little.
func TestTheEndOfAnEarlierTurnIsNoNews(t *testing.T) {
	w := newWorld(t)
	w.create("a-0", "a", "")
	fast := testingclock.NewFakePassiveClock(w.clock.Now().Add(time.Minute))
	b, err := budget.New(budget.Config[string, guard.Member]{Clock: fast, Bounds: []budget.Bound{oneAtATime}})
	require.NoError(t, err)
	g, err := guard.New(b, evictor.DefaultConfig().Nodes, guard.Options{})
	require.NoError(t, err)
	on := g.On(evictor.Options{Clock: w.clock})
	on.Hold(w.nodes["a-0"])
	before := w.clock.Now()
	w.clock.Step(time.Second)
	require.NoError(t, on.Gate.May(context.Background(), gate.Act{Do: gate.Turn, Node: "a-0"}))
	ends := func(at time.Time) {
		on.Observer.ObserveNode(nodelifecycle.Decision{Kind: nodelifecycle.TurnEnded, Node: "a-0", Reason: "Spent", Time: at})
	}
	ends(before)
	require.EqualValues(t, 1, used(t, b, "one at a time", ""))
	ends(w.clock.Now())
	require.Zero(t, used(t, b, "one at a time", ""))
}
