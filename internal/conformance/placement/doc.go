// Package placement compares where the simulator lets pods come back with kube-scheduler's filters NodeUnschedulable,
// NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit, VolumeRestrictions, VolumeBinding, VolumeZone,
// PodTopologySpread and InterPodAffinity of k8s.io/kubernetes, run by its own framework.
//
// A decision is about one pod in one state of a random cluster. For every node, both sides say whether the pod may go
// there, and the node that the simulator chooses must be one of those. Between two decisions the cluster changes: pods
// are added, deleted and completed; nodes are cordoned, tainted, moved to another zone, added and deleted.
//
// If the two differ, a row of rows_test.go must say why. The test checks the row: it changes the objects as the row
// describes, and the scheduler must then agree with the simulator. Any other difference fails the test.
//
// Resource claims, limits on the number of volumes, inline volumes and resizes of running pods are not compared,
// because the simulator ignores them; it counts the pods that have the first. Nor is when a pod may be placed, after
// its volume is detached or because of its Job: that is not the scheduler's.
package placement
