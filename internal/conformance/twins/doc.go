// Package twins compares the parts of a simulated world that are no controllers of ours with their originals, which
// package controllermanager plays in place of the World's own: PodGC, the ReplicaSet, StatefulSet, Job and
// disruption controllers, the eviction subresource and kubectl drain of Kubernetes. The World plays the same
// scenario alone, and the two must show the same, to the hundredth of a second and pod by pod: which is bound,
// deleted and gone when and where, how the eviction API answers, and with which numbers, how a drain ends.
//
// rows_test.go lists what may differ, with a reason for each row. A difference that no row explains fails the test,
// and so does a row that explains nothing in all scenarios. SCENARIO.md of examples/scenariofile has a table, kept
// by a test, that says of each event and field of a scenario which twin it has.
//
//	go test -C internal/conformance ./twins                                  # 20 scenarios of each twin
//	EVICTKIT_FULL=1 go test -C internal/conformance ./twins                  # 200
//	go test -C internal/conformance ./twins -run TestTwins/job -seeds 2000 -from 1 -timeout 1h
//
// Not played: Deployments and DaemonSets, volumes that attach and detach, back-off limits per index and rules that fail
// a Job. World.Feasible is asked where nobody makes pods, in scenarios of PodGC, and must change nothing there. What
// happens within one instant is kept out of the scenarios, because it is SCENARIO.md that orders it.
package twins
