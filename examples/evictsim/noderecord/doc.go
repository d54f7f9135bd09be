// Package noderecord reads and writes records of what a node and its pods used over time, and plays them through the
// eviction machine of package nodepressure.
//
// # The format
//
// A record is JSON, one object per line. There are three kinds of lines.
//
// The first line is the node: the eviction fields of its kubelet's configuration, its file systems (SingleFs,
// DedicatedImageFs or SplitImageFs) and the ranking of pods (ByUsage or ByQOS). All are optional, as in
// {"node":{}}: the kubelet's defaults apply.
//
//	{"node":{"settings":{"evictionHard":{"memory.available":"100Mi"}},"layout":"SingleFs","ranking":"ByUsage"}}
//
// A pod is a Pod of the Kubernetes API, as kubectl prints it. The reader uses its name, priority, resources, volumes,
// tolerations and annotations. Without a namespace it is in default. It comes before the first sample that names it. A
// later pod of the same name replaces it.
//
//	{"pod":{"metadata":{"namespace":"shop","name":"cart"},"spec":{"containers":[{"name":"main"}]}}}
//
// A sample is a measurement: its time in seconds, the available amount of each signal (in bytes, inodes or processes),
// and what the active pods used. A pod of unknown usage is null.
//
//	{"sample":{"t":10,"signals":{"memory.available":{"available":73400320,"capacity":4294967296}},
//	  "pods":{"shop/cart":{"memory":900000000,"processes":12},"shop/web":null}}}
//
// (That is one line.) An amount that was measured earlier than the sample was taken says when, in seconds, as in
// {"available":73400320,"capacity":4294967296,"at":-3.5}. Times of samples do not go back. Unknown signals, pods and
// fields are errors that name the line, except unknown fields within a pod.
package noderecord
