package simulation

import (
	"errors"
	"fmt"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
)

// Scenario says what exists at time 0, what happens, and when it ends. It is plain data. Play does not change it, so it
// can be copied, changed and played again.
type Scenario struct {
	// Nodes, Pods and Budgets are objects as the API server returns them; see the package comment.
	//
	// A node without conditions is Ready; one whose Ready condition is Unknown is silent. Its allocatable resources (its
	// capacity if there are none) limit the pods that the scheduler puts there; a node with neither has no limit.
	//
	// A pod without conditions is Ready. A pod without a namespace is in default. A pod without a node is scheduled at time
	// 0. Pods on nodes that are neither in Nodes nor in Zones are left out; Report.NotSimulated counts them.
	Nodes   []*v1.Node
	Pods    []*v1.Pod
	Budgets []*policyv1.PodDisruptionBudget
	// Workloads are controllers of pods: Deployments, ReplicaSets and StatefulSets of apps/v1, and Jobs of batch/v1 (with
	// as many pods as its parallelism; once more pods than its backoffLimit have failed it ends, and evicted pods have). Pods whose owner references name the workload count as its replicas. The missing
	// ones are made from its template and scheduled at time 0.
	Workloads []runtime.Object
	// PersistentVolumes and PersistentVolumeClaims decide where pods with claims may go. Pods whose claims are missing or not
	// bound are counted in Report.NotSimulated.
	PersistentVolumes      []*v1.PersistentVolume
	PersistentVolumeClaims []*v1.PersistentVolumeClaim
	// Zones are generated nodes and pods.
	Zones []Zone

	// Events happen at their times; events of the same time happen in this order. Errors name them by number, from 1.
	Events []Event
	// Traces are recorded outages that decide which nodes are live.
	Traces []Trace
	// Until is when the scenario ends; events at that time still happen. It must be positive.
	Until time.Duration

	// Config configures the evictors that World.NewEvictor makes. The zero Config means evictor.DefaultConfig.
	Config evictor.Config
	// LeaseInterval is the time between two renewals of a kubelet's lease; 0 means 10 seconds. The renewals of all nodes
	// are spread evenly over it. StatusInterval is the time between two status reports; 0 means 5 minutes.
	LeaseInterval, StatusInterval time.Duration
	// ReplaceAfter is how long a controller and the scheduler take to replace a pod: the time from the moment a deleted pod
	// may be replaced until the scheduler first looks for a node. 0 means 10 seconds. If it is negative, no pod is replaced
	// and pods without a node are left out.
	ReplaceAfter time.Duration
	// AskBudgets makes PodWriter.Evict call the eviction API, which refuses evictions that would violate a
	// PodDisruptionBudget. Otherwise evictions are deletions, as in kube-controller-manager, and Budgets matter only for
	// the Report.
	AskBudgets bool

	// Timeline, if not nil, gets a line of JSON for each write to the API, each event, and each change of a zone, in the
	// order of time. examples/scenariofile/SCENARIO.md describes the fields.
	Timeline io.Writer
}

// Zone generates the nodes <name>-000, <name>-001, … with the labels of that zone and region. Each node has pods of a
// ReplicaSet with the zone's name, default/<node>-p0, …, and pods of a DaemonSet, default/<node>-ds0, …. ReplicaSet pods
// tolerate not-ready and unreachable for 300 seconds; DaemonSet pods tolerate every NoExecute taint.
type Zone struct {
	Name, Region         string // Region may be empty
	Nodes                int
	PodsPerNode          int
	DaemonSetPodsPerNode int
}

// Trace is the recorded number of live machines over time. As many nodes of the zone are live, the first by name; the
// others are silent. No event may fail or recover nodes of that zone.
type Trace struct {
	Zone string        // the zone's name; region:name if two regions have a zone of that name
	Gap  time.Duration // from one value to the next, in whole seconds
	// Alive holds the values. The first applies from time 0 on, the last one until the end.
	Alive []int
	// Scale is the number of nodes that one recorded machine stands for. If it is 0, the largest value stands for the whole
	// zone, and smaller ones for their share of it.
	Scale int
}

// Event is one thing that happens.
type Event struct {
	At time.Duration // since time 0
	Do Action
}

// Defaults of a Scenario.
const (
	leaseInterval  = 10 * time.Second
	statusInterval = 5 * time.Minute
	replaceAfter   = 10 * time.Second
)

// withDefaults sets fields that are zero.
func (s Scenario) withDefaults() Scenario {
	if s.Config == (evictor.Config{}) {
		s.Config = evictor.DefaultConfig()
	}
	for _, of := range []struct {
		value     *time.Duration
		otherwise time.Duration
	}{{&s.LeaseInterval, leaseInterval}, {&s.StatusInterval, statusInterval}, {&s.ReplaceAfter, replaceAfter}} {
		if *of.value == 0 {
			*of.value = of.otherwise
		}
	}
	return s
}

// translate converts the scenario, whose defaults are set, to the engine's type. Its error lists only the faults that the
// engine would not find.
func (s *Scenario) translate() (*scenario.Scenario, error) {
	errs := s.faults()
	c := &s.Config
	t := &scenario.Scenario{
		Until: duration(s.Until),
		Config: scenario.Config{
			NodeMonitorPeriod: duration(c.NodeMonitorPeriod), NodeMonitorGracePeriod: duration(c.NodeMonitorGracePeriod),
			NodeStartupGracePeriod: duration(c.NodeStartupGracePeriod), NodeEvictionRate: &c.NodeEvictionRate,
			SecondaryNodeEvictionRate: &c.SecondaryNodeEvictionRate, LargeClusterSizeThreshold: &c.LargeClusterSizeThreshold,
			UnhealthyZoneThreshold: &c.UnhealthyZoneThreshold, PodEvictionTimeout: duration(c.PodEvictionTimeout),
			TaintBasedEviction: &c.TaintBasedEviction, UseEvictionAPI: &s.AskBudgets,
		},
		Heartbeat: scenario.Heartbeat{Interval: duration(s.LeaseInterval), StatusInterval: duration(s.StatusInterval)},
	}
	if s.ReplaceAfter >= 0 {
		t.Reschedule = &scenario.Reschedule{After: duration(s.ReplaceAfter)}
	}
	for _, z := range s.Zones {
		t.Cluster.Zones = append(t.Cluster.Zones, scenario.Zone{
			Name: z.Name, Region: z.Region, Nodes: z.Nodes, PodsPerNode: z.PodsPerNode, DaemonSetPodsPerNode: z.DaemonSetPodsPerNode,
		})
	}
	for i := range s.Events {
		e := s.Events[i].Do.event
		e.At = duration(s.Events[i].At)
		t.Events = append(t.Events, e)
	}
	for i := range s.Traces {
		place := fmt.Sprintf("traces[%d]", i)
		driver, err := s.Traces[i].translate(place)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", place, err))
		}
		t.Availability = append(t.Availability, driver)
	}
	return t, errors.Join(errs...)
}

// faults returns those that the engine would not find, or would report under another field's name.
func (s *Scenario) faults() (errs []error) {
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Until <= 0 {
		fault("until: %v is not positive", s.Until)
	}
	if s.LeaseInterval < 0 {
		fault("leaseInterval: %v is negative", s.LeaseInterval)
	}
	if s.StatusInterval < 0 {
		fault("statusInterval: %v is negative", s.StatusInterval)
	}
	if err := s.Config.Validate(); err != nil {
		fault("config: %w", err)
	}
	for i := range s.Events {
		if err := s.Events[i].Do.err; err != nil {
			fault("event %d (at %v): %w", i+1, s.Events[i].At, err)
		}
	}
	return errs
}

func (t *Trace) translate(place string) (scenario.ZoneTrace, error) {
	driver := scenario.ZoneTrace{Zone: &t.Zone, File: place}
	if t.Scale != 0 {
		driver.Scale = &t.Scale
	}
	if t.Gap <= 0 || t.Gap%time.Second != 0 {
		return driver, fmt.Errorf("gap: %v is not a positive number of whole seconds", t.Gap)
	}
	trace, err := scenario.NewTrace(int(t.Gap/time.Second), t.Alive)
	if err != nil {
		return driver, fmt.Errorf("alive: %w", err)
	}
	driver.Trace = trace
	return driver, nil
}

func duration(d time.Duration) *scenario.Duration { return (*scenario.Duration)(&d) }
