package clientgo

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/gate"
)

// asked is a memory of budgets, and an API server that answers as told.
type asked struct {
	*testing.T
	clock *testingclock.FakePassiveClock
	b     *budgets
	says  error // the API server, if it is asked
	times int   // how often it was
}

func newAsked(t *testing.T) *asked {
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	return &asked{T: t, clock: clock, b: &budgets{clock: clock}}
}

func (a *asked) pass(d time.Duration) { a.clock.SetTime(a.clock.Now().Add(d)) }

// evict returns whether the API server was asked, and for how long the pod has to wait.
func (a *asked) evict(of workload, namespace string) (api bool, wait time.Duration) {
	a.Helper()
	before := a.times
	err := a.b.ask(of, namespace, func() error {
		a.times++
		return a.says
	})
	var no *gate.Refused
	if errors.As(err, &no) {
		require.Equal(a, "DisruptionBudget", no.Reason)
		require.Equal(a, a.times > before, apierrors.IsTooManyRequests(err), "is what it is: an answer, or what another pod was answered")
		wait = no.Again.Sub(a.clock.Now())
	}
	return a.times > before, wait
}

// refuses is the API server's answer for a budget.
func refuses(message string, seconds int) error {
	answer := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", seconds)
	answer.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: message}}
	return fmt.Errorf("evicting: %w", answer)
}

const needs = "The disruption budget web needs 2 healthy pods and has 2 currently"

// What a budget says of one pod goes for its others until its next time: those of the same controller, and those that it is
// known to protect. It does not go for others, nor for pods that are not Ready, which it may let go.
func TestOnePodOfABudgetIsAskedAbout(t *testing.T) {
	a := newAsked(t)
	web, api := workload{"web", true}, workload{"api", true}
	is := func(of workload, namespace string, asked bool, wait time.Duration) {
		t.Helper()
		api, waits := a.evict(of, namespace)
		require.Equal(t, []any{asked, wait}, []any{api, waits})
	}
	a.says = refuses(needs, 0)
	is(web, "shop", true, time.Second)
	a.pass(300 * time.Millisecond)
	is(web, "shop", false, 700*time.Millisecond)
	is(api, "shop", true, 700*time.Millisecond) // nobody knew that the budget selects it
	is(api, "shop", false, 700*time.Millisecond)
	is(workload{"web", false}, "shop", true, time.Second)
	is(workload{"else", true}, "lab", true, time.Second) // a budget of the same name
	for _, wait := range []time.Duration{2, 4, 8, 16, 32, 60, 60} {
		a.pass(time.Minute)
		is(web, "shop", true, wait*time.Second)
		is(api, "shop", false, wait*time.Second)
	}
}

// A budget of two workloads is split: the answer about one of them names its new budget, and the other is still asked about.
func TestABudgetIsSplit(t *testing.T) {
	a, web, api := newAsked(t), workload{"web", true}, workload{"api", true}
	a.says = refuses(needs, 0)
	_, _ = a.evict(web, "shop")
	_, _ = a.evict(api, "shop")
	a.pass(time.Minute)
	a.says = refuses("The disruption budget web-2 needs 2 healthy pods and has 2 currently", 0)
	_, _ = a.evict(web, "shop")
	a.says = nil
	asked, _ := a.evict(api, "shop")
	require.True(t, asked)
}

// When the budget permits one, the others are asked about at once. When it says something else it has changed, and is asked
// again soon.
func TestABudgetThatPermitsOrChanges(t *testing.T) {
	a, web := newAsked(t), workload{"web", true}
	for range 5 {
		a.says = refuses(needs, 0)
		a.pass(time.Minute)
		_, _ = a.evict(web, "shop")
	}
	has1 := refuses("The disruption budget web needs 2 healthy pods and has 1 currently", 0)
	a.says = has1
	a.pass(time.Minute)
	api, wait := a.evict(web, "shop")
	require.Equal(t, []any{true, time.Second}, []any{api, wait})

	a.says = nil
	a.pass(time.Minute)
	for range 3 {
		api, _ = a.evict(web, "shop")
		require.True(t, api)
	}
	a.says = has1
	a.pass(time.Millisecond)
	_, wait = a.evict(web, "shop")
	require.Equal(t, time.Second, wait, "as if for the first time")
	a.pass(3 * time.Second)
	_, wait = a.evict(web, "shop")
	require.Equal(t, 2*time.Second, wait)
	a.pass(3 * time.Minute)
	_, wait = a.evict(web, "shop")
	require.Equal(t, time.Second, wait, "it is long ago that it refused")
}

// The answer may name a time; a budget that nobody named goes for its workload; another error, or a 429 of an overloaded API
// server, says nothing about budgets.
func TestAnswersAboutBudgets(t *testing.T) {
	web, other := workload{"web", true}, workload{"other", true}
	for name, row := range map[string]struct {
		says  error
		wait  time.Duration
		known bool // for the same workload
	}{
		"a time":        {refuses(needs, 10), 10 * time.Second, true},
		"no name":       {refuses("", 0), time.Second, true},
		"overloaded":    {apierrors.NewTooManyRequests("slow down", 10), 0, false},
		"another error": {errors.New("broken"), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsked(t)
			a.says = row.says
			api, wait := a.evict(web, "shop")
			require.Equal(t, []any{true, row.wait}, []any{api, wait})
			api, _ = a.evict(web, "shop")
			require.Equal(t, !row.known, api)
			api, _ = a.evict(other, "shop")
			require.True(t, api)
		})
	}
}

// Answers that are under way at the same time count once, and one that permits is not believed after a later refusal. While
// one pod is asked about, the others wait.
func TestAnswersAtTheSameTime(t *testing.T) {
	a, web := newAsked(t), workload{"web", true}
	err := a.b.ask(web, "shop", func() error {
		for range 10 {
			_ = a.b.ask(web, "shop", func() error {
				a.pass(time.Millisecond)
				return refuses(needs, 0)
			})
		}
		return refuses(needs, 0)
	})
	var no *gate.Refused
	require.ErrorAs(t, err, &no)
	require.Equal(t, time.Second, no.Again.Sub(a.clock.Now()))

	a.pass(time.Second)
	require.NoError(t, a.b.ask(web, "shop", func() error {
		api, wait := a.evict(web, "shop")
		require.Equal(t, []any{false, time.Second}, []any{api, wait})
		_ = a.b.ask(workload{"api", true}, "shop", func() error {
			a.pass(time.Millisecond)
			return refuses(needs, 0)
		})
		return nil
	}))
	api, _ := a.evict(web, "shop")
	require.False(t, api)
}

// Pods are evicted side by side.
func TestBudgetsAreAskedSideBySide(t *testing.T) {
	a := newAsked(t)
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for n := range 500 {
				_ = a.b.ask(workload{types.UID(fmt.Sprint(n % 5)), true}, "shop", func() error {
					if n%3 == i%3 {
						return nil
					}
					return refuses(needs, 0)
				})
				if n%100 == 0 {
					a.b.askAgain()
				}
			}
		}()
	}
	workers.Wait()
}

// Who is not evicted any more is forgotten, and so is all when the evictor can see the cluster again.
func TestBudgetsAreForgotten(t *testing.T) {
	a := newAsked(t)
	for i := range 20_000 {
		budget := "The disruption budget web needs 2 healthy pods and has 2 currently"
		if i%2 == 0 {
			budget = fmt.Sprintf("The disruption budget web-%d needs 2 healthy pods and has 2 currently", i)
		}
		a.says = refuses(budget, 0)
		_, _ = a.evict(podOfItsOwn(i), "shop")
		api, _ := a.evict(podOfItsOwn(max(0, i-1)), "shop")
		require.False(t, api, "what was just said is remembered")
		a.pass(100 * time.Millisecond)
	}
	require.LessOrEqual(t, len(a.b.of), 4096, "those of a few minutes")
	require.LessOrEqual(t, len(a.b.refusing), 4096)
	api, _ := a.evict(podOfItsOwn(19_999), "shop")
	require.False(t, api)
	a.b.askAgain()
	api, _ = a.evict(podOfItsOwn(19_999), "shop")
	require.True(t, api)
}

func podOfItsOwn(i int) workload {
	ready := []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	return workloadOf(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}, Status: v1.PodStatus{Conditions: ready}})
}
