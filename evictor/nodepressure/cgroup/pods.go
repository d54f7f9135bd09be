package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// container is the only one of a pod that is made of a cgroup.
const container = "main"

// kubepods is the cgroup of all pods of a kubelet.
func (n Node) kubepods() (dir string, ok bool) {
	for _, name := range []string{"kubepods.slice", "kubepods"} {
		dir = filepath.Join(n.Dir, name)
		if _, err := os.Stat(filepath.Join(dir, "memory.current")); err == nil {
			return dir, true
		}
	}
	return "", false
}

// Pods measures the pods, by class and in the order of their names. One that ends meanwhile is left out. What they use of
// file systems is not known. A pod of a kubelet has its UID, but not the name that the API server knows it by.
func (n Node) Pods() ([]nodepressure.Pod, error) {
	parent, kubelets := n.kubepods()
	if !kubelets {
		return pods(n.Dir, v1.PodQOSBurstable, func(string) bool { return true })
	}
	var all []nodepressure.Pod
	for _, p := range places(parent) {
		found, err := pods(p.dir, p.class, func(name string) bool { return strings.HasPrefix(name, p.prefix) })
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// place is where a kubelet keeps the pods of a class.
type place struct {
	class       v1.PodQOSClass
	dir, prefix string
}

// places are by the driver of cgroups: systemd's slices carry the names of those above them. Guaranteed pods
// have no cgroup of their class.
func places(kubepods string) []place {
	if filepath.Base(kubepods) == "kubepods" {
		return []place{
			{v1.PodQOSBestEffort, filepath.Join(kubepods, "besteffort"), "pod"},
			{v1.PodQOSBurstable, filepath.Join(kubepods, "burstable"), "pod"},
			{v1.PodQOSGuaranteed, kubepods, "pod"},
		}
	}
	return []place{
		{v1.PodQOSBestEffort, filepath.Join(kubepods, "kubepods-besteffort.slice"), "kubepods-besteffort-pod"},
		{v1.PodQOSBurstable, filepath.Join(kubepods, "kubepods-burstable.slice"), "kubepods-burstable-pod"},
		{v1.PodQOSGuaranteed, kubepods, "kubepods-pod"},
	}
}

// pods are the children of a cgroup, which need not exist, that are wanted.
func pods(dir string, class v1.PodQOSClass, wanted func(name string) bool) ([]nodepressure.Pod, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var result []nodepressure.Pod
	for _, entry := range entries {
		if !entry.IsDir() || !wanted(entry.Name()) {
			continue
		}
		pod, err := measure(filepath.Join(dir, entry.Name()), class)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		result = append(result, pod)
	}
	return result, nil
}

// gone says whether a cgroup ended while it was read, or does not count memory.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errRemoved) }

func measure(dir string, class v1.PodQOSClass) (nodepressure.Pod, error) {
	used, err := workingSet(dir)
	if err != nil {
		return nodepressure.Pod{}, err
	}
	request, err := optional(filepath.Join(dir, "memory.min"))
	if err != nil {
		return nodepressure.Pod{}, err
	}
	if class == v1.PodQOSGuaranteed && request <= 0 {
		// It may use what it requests.
		if request, err = optional(filepath.Join(dir, "memory.max")); err != nil {
			return nodepressure.Pod{}, err
		}
	}
	processes, err := optional(filepath.Join(dir, "pids.current"))
	if err != nil {
		return nodepressure.Pod{}, err
	}
	return nodepressure.Pod{
		Pod: &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "cgroup", Name: filepath.Base(dir), UID: uid(filepath.Base(dir))},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: container, Resources: resources(class, max(request, 0))}}},
		},
		Usage: &nodepressure.Usage{
			Memory: used, Processes: max(processes, 0), Containers: []nodepressure.ContainerUsage{{Name: container, Memory: used}},
		},
	}, nil
}

// resources are of the class, and request memory.
func resources(class v1.PodQOSClass, memory int64) v1.ResourceRequirements {
	if class == v1.PodQOSBestEffort {
		return v1.ResourceRequirements{}
	}
	// A class does not tell how much cpu is requested; that does not matter here.
	list := v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(1, resource.DecimalSI)}
	if memory > 0 {
		list[v1.ResourceMemory] = *resource.NewQuantity(memory, resource.BinarySI)
	}
	if class == v1.PodQOSGuaranteed && memory > 0 {
		return v1.ResourceRequirements{Requests: list, Limits: list}
	}
	return v1.ResourceRequirements{Requests: list}
}

// uid is the pod's UID in the name of a kubelet's cgroup, as in kubepods-burstable-pod3f2a_9c.slice or pod3f2a-9c; in any
// other name there is none.
func uid(name string) types.UID {
	name, slice := strings.CutSuffix(name, ".slice")
	if slice {
		for _, prefix := range []string{"kubepods-besteffort-pod", "kubepods-burstable-pod", "kubepods-pod"} {
			if id, ok := strings.CutPrefix(name, prefix); ok {
				return types.UID(strings.ReplaceAll(id, "_", "-")) // a dash separates slices
			}
		}
		return ""
	}
	id, ok := strings.CutPrefix(name, "pod")
	if !ok {
		return ""
	}
	return types.UID(id)
}
