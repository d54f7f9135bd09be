// Package objects streams Node and Pod objects from what kubectl get nodes,pods -A -o yaml or -o json
// prints: a List, NodeList or PodList, many documents separated by ---, or JSON values one after the
// other. A file may be of any size: only one object is in memory at a time.
//
//	file --> JSON: token by token --+
//	     +-> YAML: item by item ----+-> one object --> kind? --> v1.Node or v1.Pod --> visit
//	                                                   +--> counted as skipped
package objects
