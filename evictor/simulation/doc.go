// Package simulation answers "what would my cluster do?" in virtual time: it plays the events of a scenario against an
// evictor, or against controllers of your own, and returns figures.
//
// A Scenario says what exists at time 0 (nodes, pods, disruption budgets, workloads), what happens and when (a zone
// falls silent, a node is replaced, the API is down), and when it ends. Play builds a World from it, with an API,
// kubelets that renew leases and report status, a scheduler, and a clock. Controllers read its stores and write to its
// API. The Report says what happened.
//
//	Scenario: objects, events --> World: API, kubelets, scheduler, clock --> Report: evictions, pod-hours, workloads
//	                               |                            ^
//	                               | stores, changes            | writes
//	                               v                            |
//	                              Controllers: an evictor, and yours
//
// Nothing waits for real time: an hour of a hundred nodes takes a few hundredths of a second. The same Scenario gives
// the same Report on every run.
//
//	report, err := simulation.Play(ctx, simulation.Scenario{
//		Nodes: nodes, Pods: pods, // from a client, from informers, or written by hand
//		Objects: []runtime.Object{budget, deployment},
//		Events: []simulation.Event{
//			{At: 5 * time.Minute, Fail: &simulation.Nodes{Zone: "a"}},
//			{At: 20 * time.Minute, Recover: &simulation.Nodes{Zone: "a"}},
//		},
//		Until:    time.Hour,
//		Timeline: timeline.To(os.Stdout), // what happens, as lines of JSON
//	})
//	fmt.Println(report.Evicted, report.FirstEviction, report.NeedlessEvictions, report.PodHoursLost)
//
// # Who acts
//
// Without controllers, Play runs one evictor with Scenario.Config. To replace a part of the evictor, make it yourself
// with any evictor.Options: another zone policy, Prefer, a gate, an observer.
//
//	report, err := simulation.Play(ctx, scenario, func(w *simulation.World) (simulation.Controller, error) {
//		return w.NewEvictor(evictor.Options{Policy: careful, Observer: observer})
//	})
//
// A controller of your own has one method, Step. It reads nodes, pods and the time from the World (Clients, Clock) and
// writes what an evictor writes (Clients). With World.Do it does what people and other programs do to nodes: cordon,
// drain, delete, replace or reboot them. Play takes several controllers, which then act together.
//
// # What happens at one instant
//
// Time 0 is Epoch. At time 0 every node is Ready and has just renewed its lease and reported its status, unless its
// object says otherwise. At each instant, in this order:
//
//  1. The events of this time happen, in the order in which they are listed.
//  2. Nodes fail and recover as Traces say.
//  3. Kubelets renew leases and report status. Controllers notice a failed node only because this stops.
//  4. The guard looks, and a leader loses its lease or takes over.
//  5. Pods without a node are scheduled.
//  6. Each controller's Step runs, in the order given to Play. If one changes something, the others run again.
//
// # What the world does by itself
//
// Workload controllers replace deleted pods. A pod of a StatefulSet is replaced under its own name once its object is
// gone, and when all with lower ordinals are Running and Ready, unless its set's podManagementPolicy is Parallel; one
// below its set's ordinals.start is not replaced. A pod of a Job is replaced after the Job's back-off. One without a
// controller is lost for good. Any other pod is replaced when its deletion begins, as <name>-r1, <name>-r2 and so on.
// On a silent node the object stays terminating until the kubelet is back, ForceDelete removes it, or the pod garbage
// collector does: 40 to 60 seconds after the node was deleted, or soon after it was tainted out of service. A pod that
// is bound to a node whose kubelet does not reach the API is Pending, and counts as missing, until the kubelet does.
//
// An outage of the API is played as clusters live it: a guard tells evictors that they are blind, as package clientgo
// does; the leader loses its lease, and the next one takes over after the outage; replacements, the scheduler, rolls
// and events that need the API wait for it; and a kubelet repairs a wrong status of its node within 10 seconds.
//
// The scheduler considers the nodes that have enough free resources and host ports, match node selectors, required
// affinities, required topology spread and bound volumes, and have only tolerated taints. It takes the least allocated
// one. A pod that fits nowhere is pending until something changes. Report.NotSimulated counts the pods that have
// scheduling rules that are not simulated.
//
// Pods of DaemonSets belong to their nodes and are not replaced elsewhere. Report.DaemonSetPods is the only figure that
// counts them.
//
// # What objects must say
//
// Objects are used as an API server returns them. An API server adds tolerations of not-ready and unreachable for 300
// seconds to pods that have none. Play does not: a Pod written by hand without tolerations is evicted as soon as its
// node is tainted. Pods that Zones and workloads make have these tolerations. Play changes no object.
//
// # Beside this package
//
// examples/evictsim plays the same scenarios from YAML files and draws them; examples/scenariofile/SCENARIO.md has
// every rule. Package timeline reads the lines of a timeline back. Use package evictortest, which moves a World of
// New, in tests that decide step by step what happens next. Play plays a complete scenario to its end, with a
// scheduler, and returns figures.
//
// Play uses only the goroutine that calls it. Several calls may run at the same time, even with the same objects.
package simulation
