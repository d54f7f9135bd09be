// Package outages makes scenarios from recorded outages: three zones of spot machines, nine zones of a single spot
// machine each, and production clusters of Los Alamos. All have the machines and pods of a recorded GPU cluster.
//
// The recorded data is not part of this repository. Record.Make reads it, and writes a scenario and the objects of its
// cluster into another folder, so that either engine of evictsim can play it. The same rules fill in what the records
// leave out:
//
//   - Ten pods with equal requests form a workload, a ReplicaSet. An evicted pod comes back 10 s later, if it fits.
//   - A cluster smaller than the recorded one takes every n-th machine of it. Pods go in the recorded order, each on
//     the node with the most free CPU on which it fits, until they request 70 % of all CPU. The rest is room for
//     evicted pods.
//   - Overlapping outages of a node are merged into one.
package outages
