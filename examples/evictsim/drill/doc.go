// Package drill finds what hurts a cluster, from its objects alone, without a scenario. It loses each zone, the nodes
// with each value of some labels, and one node of each class in turn. It plays each also as a false alarm: the nodes
// run on, but are silent for a while. It says which workloads suffer from the worst losses, what Kubernetes itself
// offers against that, and which settings of node failure handling are better than today's over the worst losses and
// their false alarms.
//
//	objects --> Losses --> today's Results --> Hurts: workloads and remedies
//	                  \--> Search of Settings --> Advice
package drill
