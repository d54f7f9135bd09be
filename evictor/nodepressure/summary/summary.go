package summary

import (
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// Joined is a kubelet's Summary, joined with the pods of the API.
type Joined struct {
	// Stats is the sample. Its pods are those that both sides know, in the order in which they were given.
	nodepressure.Stats
	// Node is the name of the node, as its kubelet says it.
	Node string
	// Unknown are the pods that only the Summary has, in its order. They are not candidates for eviction.
	Unknown []Ref
	// Unmeasured are the given pods that only the API has. They are not candidates either.
	Unmeasured []*v1.Pod
}

// Ref names a pod, as the kubelet does. The UID of a static pod is that of the kubelet, not that of its mirror.
type Ref struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

// Join joins the body of a response of the Summary API with the pods that the API server has for the node.
//
// It is an error if body is not JSON or not a Summary, for example a Status that says why there is none.
func Join(body []byte, pods []*v1.Pod) (Joined, error) {
	var s summary
	if err := json.Unmarshal(body, &s); err != nil {
		return Joined{}, fmt.Errorf("summary: %w", err)
	}
	if s.Node == nil {
		return Joined{}, errors.New("summary: no node in the summary")
	}
	joined := Joined{Node: s.Node.Name, Stats: nodepressure.Stats{Signals: s.Node.signals(), Pods: make([]nodepressure.Pod, 0, len(pods))}}
	measured := make(map[types.UID]*pod, len(s.Pods))
	for i := range s.Pods {
		measured[s.Pods[i].Ref.UID] = &s.Pods[i]
	}
	delete(measured, "") // no pod is without a UID
	known := make(map[types.UID]bool, len(pods))
	for _, given := range pods {
		uid, sample := find(measured, given)
		if sample != nil {
			known[uid] = true
		}
		switch {
		case given.Status.Phase == v1.PodSucceeded || given.Status.Phase == v1.PodFailed:
		case sample == nil:
			joined.Unmeasured = append(joined.Unmeasured, given)
		default:
			joined.Pods = append(joined.Pods, nodepressure.Pod{Pod: given, Usage: sample.usage()})
		}
	}
	for i := range s.Pods {
		if ref := s.Pods[i].Ref; !known[ref.UID] {
			joined.Unknown = append(joined.Unknown, ref)
		}
	}
	return joined, nil
}

// find returns the sample of a pod and its UID there, nil and the empty UID if there is none. A kubelet does not run a
// mirror pod but the static pod that it stands for.
func find(measured map[types.UID]*pod, given *v1.Pod) (types.UID, *pod) {
	uids := []types.UID{given.UID}
	if static, mirror := given.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		uids = []types.UID{types.UID(static), types.UID(given.Annotations["kubernetes.io/config.hash"])}
	}
	for _, uid := range uids {
		if sample := measured[uid]; sample != nil {
			return uid, sample
		}
	}
	return "", nil
}

// The parts of a summary that are read, named as there. What is nil is not known.
type (
	summary struct {
		Node *node `json:"node"`
		Pods []pod `json:"pods"`
	}
	node struct {
		Name             string      `json:"nodeName"`
		SystemContainers []container `json:"systemContainers"`
		Memory           *memory     `json:"memory"`
		FileSystem       *fileSystem `json:"fs"`
		Runtime          fileSystems `json:"runtime"`
		Processes        *processIDs `json:"rlimit"`
	}
	memory struct {
		Time       metav1.Time `json:"time"`
		Available  *uint64     `json:"availableBytes"`
		Usage      *uint64     `json:"usageBytes"`
		WorkingSet *uint64     `json:"workingSetBytes"`
	}
	fileSystems struct {
		Image     *fileSystem `json:"imageFs"`
		Container *fileSystem `json:"containerFs"`
	}
	fileSystem struct {
		Time       metav1.Time `json:"time"`
		Available  *uint64     `json:"availableBytes"`
		Capacity   *uint64     `json:"capacityBytes"`
		Used       *uint64     `json:"usedBytes"`
		InodesFree *uint64     `json:"inodesFree"`
		Inodes     *uint64     `json:"inodes"`
		InodesUsed *uint64     `json:"inodesUsed"`
	}
	processIDs struct {
		Time    metav1.Time `json:"time"`
		Most    *int64      `json:"maxpid"`
		Running *int64      `json:"curproc"`
	}
	pod struct {
		Ref              Ref         `json:"podRef"`
		Containers       []container `json:"containers"`
		Memory           *memory     `json:"memory"`
		Volumes          []volume    `json:"volume"`
		EphemeralStorage *fileSystem `json:"ephemeral-storage"`
		Processes        struct {
			Count *uint64 `json:"process_count"`
		} `json:"process_stats"`
	}
	container struct {
		Name   string      `json:"name"`
		Memory *memory     `json:"memory"`
		Rootfs *fileSystem `json:"rootfs"`
		Logs   *fileSystem `json:"logs"`
	}
	volume struct {
		fileSystem
		Name string `json:"name"`
	}
)
