// Package controllermanager plays in a simulated world what of Kubernetes acts there, unmodified and in the virtual
// time of testing/synctest: PodGC, the ReplicaSet, StatefulSet, Job and disruption controllers, the eviction
// subresource and kubectl drain. A Manager stands in place of the world's own parts; the world has the machines, the
// kubelets and the scheduler.
//
// Its clients see an API server of its own (store), which has all objects and shows what happens in the world.
// Workloads of which a scenario has only the pods get an object. Whoever creates, deletes or evicts a pod does so in
// the world.
//
// Package twins compares it with the world's own parts, and program oracle plays it beside the node lifecycle and
// taint eviction controllers, as evictsim's engine upstream.
package controllermanager
