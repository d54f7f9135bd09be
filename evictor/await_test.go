package evictor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// brought is a Source whose store is complete once nothing is awaited.
type brought struct {
	bare
	awaits  string
	fed     []evictor.Target
	refuses error
	run     func(context.Context) error
}

func (b *brought) Synced() bool   { return b.awaits == "" }
func (b *brought) Awaits() string { return b.awaits }

func (b *brought) Feed(to evictor.Target, _ evictor.Config) error {
	b.fed = append(b.fed, to)
	return b.refuses
}

func (b *brought) Run(ctx context.Context) error { return b.run(ctx) }

func liveNode(name string) *v1.Node {
	node := &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}}
	node.Name = name
	return node
}

func (b *brought) evictor(options evictor.Options) (*evictor.Evictor, error) {
	return evictor.New(config(), evictor.Clients{Nodes: b, Pods: b, NodeWriter: b, PodWriter: b, Source: b}, options)
}

// An evictor that is not fed evicts nothing: it would mistake missing events for silence.
func TestAnEvictorThatIsNotFedHarmsNobody(t *testing.T) {
	b := &bare{nodes: map[string]*v1.Node{"n": liveNode("n")}}
	clk := testingclock.NewFakePassiveClock(evictortest.Epoch)
	e, err := evictor.New(config(), evictor.Clients{Nodes: b, Pods: b, NodeWriter: b, PodWriter: b}, evictor.Options{Clock: clk})
	require.NoError(t, err)
	for range 100 {
		next, err := e.Step(context.Background())
		require.NoError(t, err)
		require.Equal(t, clk.Now().Add(config().GateInterval), next)
		clk.SetTime(clk.Now().Add(5 * time.Second))
	}
	require.Empty(t, b.wrote)
	told := e.Explain("n")
	require.Len(t, told, 1, "once")
	require.Equal(t, "00:00:00 cluster: nothing is decided, it waits for the program to feed it: NodeChanged, PodChanged and LeaseRenewed, or a Source", told[0].String())

	e.LeaseRenewed("n", evictortest.Epoch)
	_, err = e.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, "00:08:20 cluster: all is there, decisions begin", e.Explain("n")[1].String())
	_, known := e.Node("n")
	require.True(t, known)
}

func TestASourceFeedsFromTheConstructionOn(t *testing.T) {
	b := &brought{}
	e, err := b.evictor(evictor.Options{})
	require.NoError(t, err)
	require.Equal(t, []evictor.Target{e}, b.fed)
	b.refuses = errors.New("it cannot serve that")
	_, err = b.evictor(evictor.Options{})
	require.ErrorIs(t, err, b.refuses)
}

// What is awaited is logged once, at Info, and Explain says so too.
func TestWhatIsAwaitedIsToldOnce(t *testing.T) {
	b := &brought{awaits: "the first list of pods"}
	b.nodes = map[string]*v1.Node{"n": liveNode("n")}
	var log bytes.Buffer
	clk := testingclock.NewFakePassiveClock(evictortest.Epoch)
	e, err := b.evictor(evictor.Options{Clock: clk, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	for range 10 {
		_, err := e.Step(context.Background())
		require.NoError(t, err)
	}
	require.Equal(t, 1, strings.Count(log.String(), "nothing is decided, it waits for the first list of pods"))
	require.Contains(t, e.Explain("shop/p")[0].String(), "waits for the first list of pods")
	b.awaits = ""
	_, err = e.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(log.String(), "all is there"))
	require.Len(t, e.Explain("shop/p"), 2)
}

// Run runs the Source, and returns after it has ended.
func TestRunRunsTheSource(t *testing.T) {
	b := &brought{}
	began, ended := make(chan struct{}), false
	b.run = func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		ended = true
		return nil
	}
	e, err := b.evictor(evictor.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- e.Run(ctx) }()
	<-began
	cancel()
	require.ErrorIs(t, <-ran, context.Canceled)
	require.True(t, ended, "Run waits for it")
}

func TestASourceThatEndsEndsRun(t *testing.T) {
	gone := errors.New("gone")
	for _, reason := range []error{gone, nil} {
		b := &brought{run: func(context.Context) error { return reason }}
		e, err := b.evictor(evictor.Options{})
		require.NoError(t, err)
		err = e.Run(context.Background())
		require.ErrorContains(t, err, "its source has ended")
		require.Equal(t, reason != nil, errors.Is(err, gone))
	}
}
