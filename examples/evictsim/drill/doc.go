// Package drill finds what hurts a cluster, from its objects alone, without a scenario. It loses each zone, the nodes
// with each value of some labels, and one node of each class in turn. It plays each also as a false alarm: the nodes
// run on, but are silent for a while. It groups what the worst losses break by cause, and plays each remedy that it
// knows for a cause on this cluster: what it changes in the pod-hours lost and missing, Pending pods, budgets and Jobs.
// It also says which settings of node failure handling are better than today's over the worst losses and their false
// alarms.
//
//	objects --> Losses --> today's Results --> Broken: Groups by cause --> Remedies, the best first
//	                  \--> Search of Settings --> Advice
//
// A remedy is played as if it had been in effect from the beginning, everywhere: copies of the pods, Jobs, volumes or
// nodes are altered, or people act during the loss. A remedy that makes no figure better is left out. What a remedy
// costs, and which existing objects the API does not let anybody change, is in Remedy.But and Group.Template.
package drill
