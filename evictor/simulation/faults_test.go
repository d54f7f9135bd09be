package simulation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// Play reports every fault that does not depend on what happens.
func TestFaultsAreNamed(t *testing.T) {
	good := func(change func(*simulation.Scenario)) simulation.Scenario {
		s := zones()
		s.Nodes = []*v1.Node{node("x", "x", nil)}
		change(&s)
		return s
	}
	for want, s := range map[string]simulation.Scenario{
		"nodes[1]: node x already exists":       good(func(s *simulation.Scenario) { s.Nodes = append(s.Nodes, s.Nodes[0]) }),
		"nodes[1]: is nil":                      good(func(s *simulation.Scenario) { s.Nodes = append(s.Nodes, nil) }),
		"nodes[1]: metadata.name is missing":    good(func(s *simulation.Scenario) { s.Nodes = append(s.Nodes, &v1.Node{}) }),
		"pods[0]: is nil":                       good(func(s *simulation.Scenario) { s.Pods = []*v1.Pod{nil} }),
		"pods[0]: metadata.name is missing":     good(func(s *simulation.Scenario) { s.Pods = []*v1.Pod{{}} }),
		"pods[1]: pod default/p already exists": good(func(s *simulation.Scenario) { s.Pods = []*v1.Pod{pod("p", "x", "", ""), pod("p", "", "", "")} }),
		"pods[1]: pod default/q already exists": good(func(s *simulation.Scenario) { s.Pods = []*v1.Pod{pod("q", "", "", ""), pod("q", "", "", "")} }),
		"objects[0]: is nil":                    good(func(s *simulation.Scenario) { s.Objects = []runtime.Object{nil} }),
		"objects[1]: is nil": good(func(s *simulation.Scenario) {
			s.Objects = []runtime.Object{budgetOf("web", 1), (*policyv1.PodDisruptionBudget)(nil)}
		}),
		"objects[0]: spec: minAvailable and": good(func(s *simulation.Scenario) {
			b := budgetOf("web", 1)
			b.Spec.MaxUnavailable = b.Spec.MinAvailable
			s.Objects = []runtime.Object{b}
		}),
		"objects[0]: metadata.name":                            good(func(s *simulation.Scenario) { s.Objects = []runtime.Object{deployment("", 1, "1")} }),
		"objects[0]: Deployment web: replicas: -1 is negative": good(func(s *simulation.Scenario) { s.Objects = []runtime.Object{deployment("web", -1, "1")} }),
		"objects[0]: *v1.ConfigMap is not a":                   good(func(s *simulation.Scenario) { s.Objects = []runtime.Object{&v1.ConfigMap{}} }),
		"objects[0]: metadata.name is":                         good(func(s *simulation.Scenario) { s.Objects = []runtime.Object{&v1.Node{}} }),
		"event 1 (at 2m0s): fail: zone \"q\" does not exist": good(func(s *simulation.Scenario) {
			s.Events = []simulation.Event{{At: 2 * time.Minute, Fail: &simulation.Nodes{Zone: "q"}}}
		}),
		"controller 1: its Start returned nil":                                                         good(func(*simulation.Scenario) {}),
		"objects[0]: \"1x\" is neither a number nor a percentage":                                      good(func(s *simulation.Scenario) { s.Objects = []runtime.Object{badBudget()} }),
		"simulation: leaseInterval: -1s is negative\nuntil is missing: it says when the scenario ends": good(func(s *simulation.Scenario) { s.Until, s.LeaseInterval = 0, -time.Second }),
	} {
		t.Run(want, func(t *testing.T) {
			var controllers []simulation.Start
			if strings.HasPrefix(want, "controller") {
				controllers = append(controllers, func(*simulation.World) (simulation.Controller, error) { return nil, nil })
			}
			r, err := simulation.Play(context.Background(), s, controllers...)
			require.ErrorContains(t, err, want)
			require.True(t, strings.HasPrefix(err.Error(), "simulation: "), "%v", err)
			require.Nil(t, r)
		})
	}
}

func badBudget() *policyv1.PodDisruptionBudget {
	b := budgetOf("web", 1)
	b.Spec.MinAvailable.Type, b.Spec.MinAvailable.StrVal = 1, "1x"
	return b
}
