// Package noderecord holds what a node and its pods used over time, reads and writes it, and plays it through
// the eviction machine of package nodepressure.
//
// # The format
//
// A record is JSON, one object a line. Each line holds one of three things.
//
// The first line is the node: the eviction fields of its kubelet's configuration, its file systems (SingleFs,
// DedicatedImageFs or SplitImageFs) and the ranking of pods (ByUsage or ByQOS). All of it may be left out, as
// in {"node":{}}; then the kubelet's defaults hold.
//
//	{"node":{"settings":{"evictionHard":{"memory.available":"100Mi"}},"layout":"SingleFs","ranking":"ByUsage"}}
//
// A pod is a Pod of the Kubernetes API, as kubectl prints it. What is read of it is its name, priority,
// resources, volumes, tolerations and annotations. Without a namespace it is in default. It stands before the
// first sample that names it; one of the same name takes its place from then on.
//
//	{"pod":{"metadata":{"namespace":"shop","name":"cart"},"spec":{"containers":[{"name":"main"}]}}}
//
// A sample is what was measured: at which time, in seconds, how much was available of what, in bytes, inodes
// or processes, and what the pods that were active used. A pod whose usage is not known is null.
//
//	{"sample":{"t":10,"signals":{"memory.available":{"available":73400320,"capacity":4294967296}},
//	  "pods":{"shop/cart":{"memory":900000000,"processes":12},"shop/web":null}}}
//
// (That is one line.) Times do not go back. Unknown signals, pods and fields, but those in a pod, are errors that name
// the line.
package noderecord
