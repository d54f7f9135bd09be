package summary

import (
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// Stats returns the sample that a kubelet's eviction manager takes from its Summary API, from the body of a response.
// Pass the pods that are active on the node, as the API server has them. The sample has them in the same order, each
// with its usage; Usage is nil if the summary does not have it. Stats ignores pods that are only in the summary.
//
// It is an error if body is not JSON or not a summary, for example a Status that says why there is no summary.
func Stats(body []byte, pods []*v1.Pod) (nodepressure.Stats, error) {
	var s summary
	if err := json.Unmarshal(body, &s); err != nil {
		return nodepressure.Stats{}, fmt.Errorf("summary: %w", err)
	}
	if s.Node == nil {
		return nodepressure.Stats{}, errors.New("summary: no node in the summary")
	}
	stats := nodepressure.Stats{Signals: s.Node.signals(), Pods: make([]nodepressure.Pod, 0, len(pods))}
	usage := make(map[string]*nodepressure.Usage, len(s.Pods))
	for i := range s.Pods {
		usage[s.Pods[i].Ref.UID] = s.Pods[i].usage()
	}
	for _, pod := range pods {
		used, known := usage[string(pod.UID)]
		if static, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]; mirror && !known {
			used = usage[static] // the API server has a mirror pod, with its own UID
		}
		stats.Pods = append(stats.Pods, nodepressure.Pod{Pod: pod, Usage: used})
	}
	return stats, nil
}

// The parts of a summary that are read, named as there. What is nil is not known.
type (
	summary struct {
		Node *node `json:"node"`
		Pods []pod `json:"pods"`
	}
	node struct {
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
		Ref struct {
			UID string `json:"uid"`
		} `json:"podRef"`
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
