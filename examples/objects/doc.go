// Package objects streams Node and Pod objects from the output of kubectl get nodes,pods -A -o yaml or -o json: a List,
// NodeList or PodList, many documents separated by ---, or several JSON values. A file may be of any size: only one
// object is in memory at a time.
//
//	file --> JSON: token by token --+
//	     +-> YAML: item by item ----+-> one object --> kind? --> v1.Node or v1.Pod --> visit
//	                                                   +--> counted as skipped
package objects
