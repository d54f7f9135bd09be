package outage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFailing(t *testing.T) {
	pods := v1.Resource("pods")
	budget := apierrors.NewTooManyRequests("it would violate the pod's disruption budget", 0)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
	badGateway := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 502}}
	for name, row := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":             {nil, false},
		"not reached":         {io.ErrUnexpectedEOF, true},
		"out of time":         {fmt.Errorf("put: %w", context.DeadlineExceeded), true},
		"timeout":             {apierrors.NewTimeoutError("", 1), true},
		"server timeout":      {apierrors.NewServerTimeout(pods, "get", 1), true},
		"unavailable":         {fmt.Errorf("taints: %w", apierrors.NewServiceUnavailable("")), true},
		"an error of its own": {apierrors.NewInternalError(errors.New("etcd")), true},
		"a gateway":           {badGateway, true},
		"too much to do":      {apierrors.NewTooManyRequests("later", 1), true},
		"408":                 {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 408}}, true},

		"a budget":                 {fmt.Errorf("evicting: %w", budget), false},
		"a conflict":               {apierrors.NewConflict(pods, "p", errors.New("changed")), false},
		"gone":                     {apierrors.NewNotFound(pods, "p"), false},
		"forbidden":                {apierrors.NewForbidden(pods, "p", errors.New("no")), false},
		"invalid":                  {apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "p", nil), false},
		"a webhook that is not up": {apierrors.NewInternalError(errors.New(`failed calling webhook "w": EOF`)), false},
		"a panic":                  {fmt.Errorf("%w: nil map", ErrPanic), false},

		"one of many":  {errors.Join(fmt.Errorf("p: %w", apierrors.NewNotFound(pods, "p")), fmt.Errorf("q: %w", io.EOF)), true},
		"none of many": {fmt.Errorf("all: %w", errors.Join(apierrors.NewNotFound(pods, "p"), budget)), false},
	} {
		require.Equal(t, row.want, Failing(row.err), name)
	}
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }

const interval = 5 * time.Second

func requireProbe(t *testing.T, o *Outage[string], s int, want string) {
	t.Helper()
	key, ok := o.Probe(at(s))
	require.Equal(t, want != "", ok, "at %d", s)
	require.Equal(t, want, key, "at %d", s)
}

// While it fails one is tried each interval, of all in turn; when it answers, all are.
func TestOneProbesAndAllReturn(t *testing.T) {
	o := New[string](interval)
	requireProbe(t, o, 0, "")
	_, some := o.Next()
	require.False(t, some)
	o.Failed("a", at(0), interval)
	o.Failed("b", at(1), interval)
	o.Failed("c", at(2), interval)
	next, some := o.Next()
	require.True(t, some)
	require.Equal(t, at(5), next)
	requireProbe(t, o, 4, "")
	requireProbe(t, o, 5, "a")
	requireProbe(t, o, 20, "") // it is under way
	o.Failed("a", at(21), 2*time.Second)
	requireProbe(t, o, 22, "")
	requireProbe(t, o, 23, "b")
	o.Failed("a", at(24), interval) // by its own backoff
	o.Failed("b", at(25), interval)
	requireProbe(t, o, 30, "c")
	require.Equal(t, []string{"a", "b", "c"}, o.Answered(at(31)))
	require.Empty(t, o.Answered(at(32)), "once")
	requireProbe(t, o, 100, "")
}

// What fails again by its own backoff is tried after those that have waited for longer.
func TestWhatFailsAgainGoesToTheBack(t *testing.T) {
	o := New[string](interval)
	o.Failed("a", at(0), interval)
	o.Failed("b", at(1), interval)
	o.Failed("a", at(2), interval)
	requireProbe(t, o, 5, "b")
	require.Equal(t, []string{"a", "b"}, o.Answered(at(6)))
}

// What fails again though others are answered has a trouble of its own; a new outage is one for it too.
func TestWhatFailsAloneIsLeftAlone(t *testing.T) {
	o := New[string](interval)
	o.Failed("a", at(0), interval)
	require.Equal(t, []string{"a"}, o.Answered(at(1)))
	o.Failed("a", at(2), interval)
	require.Empty(t, o.Answered(at(3)))
	o.Failed("a", at(4), interval)
	requireProbe(t, o, 100, "")
	o.Failed("a", at(50), interval)
	requireProbe(t, o, 100, "")
	o.Failed("b", at(51), interval)
	o.Failed("a", at(52), interval)
	require.Equal(t, []string{"b", "a"}, o.Answered(at(53)), "it was not alone")
	o.Ended("b", at(54))
	o.Failed("a", at(54), interval)
	o.Failed("a", at(114), interval) // nobody was answered for so long
	requireProbe(t, o, 119, "a")
	require.Equal(t, []string{"a"}, o.Answered(at(120)))
	o.Ended("a", at(121))
	o.Failed("a", at(122), interval)
	require.Equal(t, []string{"a"}, o.Answered(at(123)), "it had succeeded since")
}

// A probe that finds nothing out, because its work is not wanted any more, gives way to another at once.
func TestProbeThatEndsGivesWay(t *testing.T) {
	o := New[string](interval)
	o.Failed("a", at(0), interval)
	o.Failed("b", at(0), interval)
	requireProbe(t, o, 5, "a")
	o.Ended("a", at(6))
	o.Ended("nobody", at(6))
	requireProbe(t, o, 6, "b")
	o.Ended("b", at(7))
	requireProbe(t, o, 100, "")
	o.Failed("b", at(200), interval)
	requireProbe(t, o, 204, "")
	requireProbe(t, o, 205, "b")
}

// Whatever happens: as long as something failed because of the API server and was not woken since, there is a probe to come or
// under way, and nothing is woken twice for one answer.
func TestAlwaysAProbe(t *testing.T) {
	for seed := range int64(200) {
		r := rand.New(rand.NewSource(seed))
		o := New[int](interval)
		asleep := map[int]bool{}
		probing := -1
		now := 0
		for range 300 {
			now += r.Intn(4)
			key := r.Intn(6)
			switch r.Intn(4) {
			case 0:
				f := o.failed[key]
				lately := patience * interval
				if o.asleep.Len() > 0 {
					lately = interval
				}
				alone := f != nil && f.woken && at(now).Before(o.answered.Add(lately))
				o.Failed(key, at(now), interval)
				asleep[key] = !alone
				if probing == key {
					probing = -1
				}
			case 1:
				for _, k := range o.Answered(at(now)) {
					require.True(t, asleep[k])
					delete(asleep, k)
				}
				require.NotContains(t, asleep, true)
				asleep, probing = map[int]bool{}, -1
			case 2:
				o.Ended(key, at(now))
				delete(asleep, key)
				if probing == key {
					probing = -1
				}
			case 3:
				if k, ok := o.Probe(at(now)); ok {
					require.True(t, asleep[k])
					require.Equal(t, -1, probing)
					probing = k
				}
			}
			waits := 0
			for _, is := range asleep {
				if is {
					waits++
				}
			}
			require.Equal(t, waits, o.asleep.Len())
			next, some := o.Next()
			require.Equal(t, waits > 0 && probing < 0, some)
			if some {
				require.False(t, next.After(at(now).Add(interval)))
			}
		}
	}
}

func TestWaits(t *testing.T) {
	second := time.Second
	w := NewWaits(second, 20*second, 3*second, 7*second, nil)
	require.Equal(t, 7*second, w.Probe)
	require.Equal(t, 7*second, w.UntilProbe())
	for times, want := range map[int][2]time.Duration{1: {3 * second, second}, 2: {6 * second, 2 * second}, 4: {20 * second, 5 * second}} {
		require.Equal(t, want, [2]time.Duration{w.Refused(times), w.Conflicted(times)}, times)
	}
	for name, row := range map[string]struct {
		waits                      Waits
		refused, conflicted, probe time.Duration
	}{
		"no passes":                  {NewWaits(second, 20*second, second, 0, nil), 8 * second, 5 * second, 5 * second},
		"the longest is short":       {NewWaits(second, 2*second, 3*second, second, nil), 2 * second, 2 * second, second},
		"the first is long":          {NewWaits(9*second, 20*second, second, second, nil), 9 * second, 9 * second, 9 * second},
		"jitter never makes it none": {NewWaits(second, 20*second, 3*second, second, func(time.Duration) time.Duration { return 0 }), second, 1, second},
	} {
		require.Equal(t, []time.Duration{row.refused, row.conflicted, row.probe}, []time.Duration{row.waits.Refused(4), row.waits.Conflicted(4), row.waits.UntilProbe()}, name)
	}
}
