// Package snapshot writes a live cluster as a file that scenarios read (cluster.files): nodes, PodDisruptionBudgets,
// PersistentVolumes, PersistentVolumeClaims, Jobs, StatefulSets and pods, as one List in JSON, one object per line.
//
//	API server --> pages of a list --> fields that scenarios know (keep.go) --> one line an object
//
// It only lists; rbac.yaml has the permissions. It writes only what a simulation could depend on: names, labels,
// taints, resources, conditions, and owners of pods. It writes no environment, commands, images, addresses, annotations
// or managedFields.
package snapshot
