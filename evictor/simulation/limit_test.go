package simulation

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
)

// What is held, and whose turn is refused, is not slowed by the rate. Nor does a node that was emptied wait for anything.
func TestLimitsNameWhatHoldsNodes(t *testing.T) {
	type options struct {
		hold    bool
		refuse  gate.Do
		without bool // taints
	}
	for name, test := range map[string]struct {
		options
		want []Limit
		left map[string]int
	}{
		"rate":    {options{}, []Limit{{State: "Normal", Rate: 0.1, From: 105 * time.Second, Ready: 20, Waited: 20 * time.Second, Most: 2}}, map[string]int{leftTerminating: 3}},
		"held":    {options{hold: true}, []Limit{{Held: "Repair", From: 105 * time.Second, Waited: 1695 * time.Second, Most: 3}}, map[string]int{leftHeld: 3}},
		"turn":    {options{refuse: gate.Turn}, []Limit{{Refused: "Mine", From: 105 * time.Second, Waited: 1695 * time.Second, Most: 3}}, map[string]int{leftRefused: 3}},
		"harm":    {options{refuse: gate.Harm}, []Limit{{Refused: "Mine", From: 105 * time.Second, Waited: 1695 * time.Second, Most: 3}}, map[string]int{leftRefused: 3}},
		"emptied": {options{without: true}, []Limit{{State: "Normal", Rate: 0.1, From: 355 * time.Second, Ready: 20, Waited: 20 * time.Second, Most: 2}}, map[string]int{leftTerminating: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			config := evictor.DefaultConfig()
			config.Nodes.TaintBasedEviction = !test.without
			r, err := Play(context.Background(), Scenario{
				Config: config, LeasesTogether: true, Zones: []Zone{{Name: "a", Nodes: 20, PodsPerNode: 1}},
				Events: []Event{{At: time.Minute, Fail: &Nodes{Zone: "a", Count: 3}}}, Until: 30 * time.Minute, ReplaceAfter: -1,
			}, func(w *World) (Controller, error) {
				options := evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
					if act.Do == test.refuse {
						return &gate.Refused{Reason: "Mine", Err: errors.New("no")}
					}
					return nil
				})}
				if test.hold {
					options.Hold = func(*v1.Node) (string, bool) { return "Repair", true }
				}
				return w.NewEvictor(options)
			})
			require.NoError(t, err)
			require.Equal(t, test.want, r.Zones[0].Limits)
			require.Equal(t, test.left, r.Left)
		})
	}
}
