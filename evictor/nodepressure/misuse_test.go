package nodepressure_test

import (
	"context"
	"math"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	clocktesting "k8s.io/utils/clock/testing"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	var noClock *clocktesting.FakeClock
	var noWorld *world
	made := func(c Config) func() error {
		return func() error { return misuse.Said(New(c)) }
	}
	watching := func(all ...Threshold) func() error { return made(Config{Thresholds: all}) }
	settled := func(s Settings) func() error {
		return func() error { return misuse.Said(s.Config()) }
	}
	machine, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(clocktesting.NewFakeClock(time.Time{}))
	managed := func(m *Machine, clients Clients, c ManagerConfig) func() error {
		return func() error { return misuse.Said(NewManager(m, clients, c)) }
	}
	background, ended := context.Background(), func() context.Context {
		ctx, end := context.WithCancel(context.Background())
		end()
		return ctx
	}()
	manager := func() *Manager {
		m, err := NewManager(machine, Clients{StatsProvider: w, Killer: w}, DefaultManagerConfig())
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"a signal that is none", watching(hardly("mem.available", "1Gi")),
			`nodepressure: thresholds[0].signal: Unsupported value: "mem.available": supported values: "memory.available", "allocatableMemory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"`},
		{"a threshold of writable layers", watching(hardly(ContainerFsAvailable, "1Gi")),
			"nodepressure: thresholds[0].signal: Forbidden: containerfs.available has no threshold of its own: it takes that of nodefs or imagefs, on which it is; set that one"},
		{"a reclaim that is too much", watching(Threshold{Signal: NodeFsAvailable, Value: Value{Percentage: 0.9}, MinReclaim: Value{Percentage: 0.1}}),
			`nodepressure: thresholds[0].minReclaim: Invalid value: "10%": can never be reached: with the threshold of 90% it is 100% of the capacity or more; it must be less than 10%`},
		{"a threshold of nothing", watching(Threshold{Signal: MemoryAvailable}), "nodepressure: thresholds[0].value: Required value: a threshold of 0 is never met"},
		{"10 for 10 %", watching(percent(PIDAvailable, 10)),
			`thresholds[0].value: Invalid value: "1000%": must be a quantity of at least 0 or a percentage between 0% and 100%`},
		{"a percentage that is no number", watching(percent(PIDAvailable, float32(math.NaN()))), `thresholds[0].value: Invalid value: "NaN%"`},
		{"a quantity and a percentage", watching(Threshold{Signal: NodeFsAvailable, Value: Value{Quantity: resource.MustParse("1"), Percentage: 0.1}}),
			`thresholds[0].value: Invalid value: "10%": must be a quantity or a percentage, not both`},
		{"a negative grace period", watching(Threshold{Signal: NodeFsAvailable, Value: Value{Percentage: 0.1}, GracePeriod: -1}),
			`thresholds[0].gracePeriod: Invalid value: "-1ns": must not be negative`},
		{"a negative reclaim", watching(reclaiming(hardly(NodeFsAvailable, "1"), "-1")), `thresholds[0].minReclaim: Invalid value: "-1": must be a quantity of at least 0`},
		{"a negative period and a layout that is none", made(Config{PressureTransitionPeriod: -1, Layout: 3}),
			`[pressureTransitionPeriod: Invalid value: "-1ns": must not be negative, layout: Invalid value: "Layout(3)": there is no such layout]`},
		{"a nil function as the ranking", made(Config{Ranking: RankingFunc(nil)}),
			`nodepressure: ranking: Invalid value: "nodepressure.RankingFunc(nil)": must not be nil within an interface; leave it out`},
		{"a nil pointer as the machine's clock", made(Config{Clock: noClock}), "nodepressure: clock: Invalid value"},
		{"a zero Machine", misuse.Panic(func() { new(Machine).Observe(Stats{}) }), "panic: nodepressure: a zero Machine was used: make one with New"},
		{"a layout that is written and is none", func() error { return misuse.Said(Layout(3).MarshalText()) }, "nodepressure: Layout(3) is not a layout"},
		{"a layout in lower case", func() error { return new(Layout).UnmarshalText([]byte("singlefs")) },
			`nodepressure: unknown layout "singlefs", want one of [SingleFs DedicatedImageFs SplitImageFs]`},
		{"an operating system in upper case", settled(Settings{OperatingSystem: "Windows"}),
			`operatingSystem: Unsupported value: "Windows": supported values: "linux", "windows"`},
		{"a soft threshold without a grace period", settled(Settings{EvictionSoft: map[string]string{"pid.available": "1k"}}),
			"evictionSoftGracePeriod[pid.available]: Required value: a soft threshold needs a grace period"},

		{"a manager of nothing", managed(nil, Clients{}, ManagerConfig{}),
			`nodepressure: [monitoringPeriod: Invalid value: "0s": must be greater than 0, cleanupTimeout: Invalid value: "0s": must be greater than 0, cleanupPoll: Invalid value: "0s": must be greater than 0, ` +
				"machine: Required value: New makes one, clients.statsProvider: Required value: it measures the node, as package summary does, clients.killer: Required value: it kills what is chosen]"},
		{"nil pointers as clients", managed(machine, Clients{StatsProvider: noWorld, Reclaimer: noWorld, Killer: noWorld}, DefaultManagerConfig()),
			`clients.reclaimer: Invalid value: "*nodepressure_test.world(nil)": must not be nil within an interface; leave it out`},
		{"a nil pointer as the manager's clock", managed(machine, Clients{StatsProvider: w, Killer: w}, ManagerConfig{MonitoringPeriod: 1, CleanupTimeout: 1, CleanupPoll: 1, Clock: noClock}),
			"nodepressure: clock: Invalid value"},
		{"another clock than the machine's", managed(machine, Clients{StatsProvider: w, Killer: w}, ManagerConfig{MonitoringPeriod: 1, CleanupTimeout: 1, CleanupPoll: 1, Clock: clocktesting.NewFakeClock(time.Time{})}),
			`nodepressure: clock: Invalid value: "*testing.FakeClock": must be the clock in the Config of the machine, a clock.RealClock`},
		{"a manager of a zero Machine", managed(new(Machine), Clients{StatsProvider: w, Killer: w}, DefaultManagerConfig()), "nodepressure: machine: Required value: New makes one"},
		{"Run with a context that has ended", func() error { return manager().Run(ended) }, "context canceled"},
		{"Run without a context", func() error { return manager().Run(nil) }, "nodepressure: Run needs a context, not nil"},                 //nolint:staticcheck // it is wrong
		{"Step without a context", func() error { return misuse.Said(manager().Step(nil)) }, "nodepressure: Step needs a context, not nil"}, //nolint:staticcheck // it is wrong
		{"a zero Manager, run", func() error { return new(Manager).Run(background) }, "nodepressure: Run of a zero Manager: make one with NewManager"},
		{"a zero Manager, stepped", func() error { return misuse.Said(new(Manager).Step(background)) }, "nodepressure: Step of a zero Manager: make one with NewManager"},
		{"Run from within a decision", func() (inner error) {
			c := DefaultManagerConfig()
			var m *Manager
			c.OnDecision = func(Decision) { inner = m.Run(background) }
			var err error
			m, err = NewManager(machine, Clients{StatsProvider: w, Killer: w}, c)
			if err != nil {
				return err
			}
			if _, err := m.Step(background); err != nil {
				return err
			}
			return inner
		}, "nodepressure: another Run or Step of this Manager is active: call one at a time"},
	})
}
