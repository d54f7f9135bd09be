// Package eviction is a port: in the kubelet's eviction manager of v1.37.2, a nodepressure.Machine decides in the place
// of managerImpl, from samples that package summary joins. nodepressure.Settings parses the thresholds, and
// nodepressure.DeriveContainerFs derives those of container file systems. Upstream's tests are played on it twice: once
// the Machine is called, once a Manager calls it. Each time 49 of its 51 tests pass.
//
// Of those, 15 drive the manager (of 17), and 2 the parser and the derived thresholds: they test our code. The other 32
// test functions of upstream's that nothing calls any more: its helpers, and its notifier of cgroup v1.
//
// testdata/left-out.txt has the tests that fail, each with its reason. A test fails if that list names one that passes,
// or does not name one that fails. testdata/adapter.go is what stands in the place of managerImpl.
package eviction
