// Package drill finds what hurts a cluster, from its objects alone, without a scenario. It loses each zone, each value
// of some labels, and one node of each class in turn, and also lets each of them fall silent for a while although it
// still runs: a false alarm. It says which workloads suffer from the worst losses, what Kubernetes itself offers
// against that, and which settings of node failure handling are better than today's over all losses and false alarms
// together.
//
//	objects --> Losses --> today's Results --> Hurts: workloads and remedies
//	                  \--> Search of Settings --> Advice
package drill
