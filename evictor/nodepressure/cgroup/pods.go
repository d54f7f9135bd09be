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

// container is the name of the only container of a pod made from a cgroup.
const container = "main"

// kubepods returns the cgroup in which a kubelet keeps its pods.
func (n Node) kubepods() (dir string, ok bool) {
	for _, name := range []string{"kubepods.slice", "kubepods"} {
		dir = filepath.Join(n.Dir, name)
		if _, err := os.Stat(filepath.Join(dir, "memory.current")); err == nil {
			return dir, true
		}
	}
	return "", false
}

// Pods measures the pods, by QoS class and then by name, without what they use of file systems. It leaves out a pod
// that ends meanwhile. A kubelet's pod has its UID, but not its name in the API.
func (n Node) Pods() ([]nodepressure.Pod, error) {
	if n.Dir == "" {
		return nil, errNoDir
	}
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

// place is where a kubelet keeps the pods of a QoS class.
type place struct {
	class       v1.PodQOSClass
	dir, prefix string
}

// places depend on the cgroup driver: the names of systemd's slices contain those of their parents. Guaranteed pods
// have no cgroup for their class.
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

// pods measures the wanted children of a cgroup, which need not exist.
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

// gone says whether a cgroup was removed while it was read, or does not count memory.
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
		// A Guaranteed pod's limit equals its request.
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

// resources returns resources of that class with this memory request.
func resources(class v1.PodQOSClass, memory int64) v1.ResourceRequirements {
	if class == v1.PodQOSBestEffort {
		return v1.ResourceRequirements{}
	}
	// The class does not say how much cpu is requested, and nothing here depends on it.
	list := v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(1, resource.DecimalSI)}
	if memory > 0 {
		list[v1.ResourceMemory] = *resource.NewQuantity(memory, resource.BinarySI)
	}
	if class == v1.PodQOSGuaranteed && memory > 0 {
		return v1.ResourceRequirements{Requests: list, Limits: list}
	}
	return v1.ResourceRequirements{Requests: list}
}

// uid returns the pod's UID from the name of a kubelet's cgroup, such as kubepods-burstable-pod3f2a_9c.slice or
// pod3f2a-9c. It is empty for any other name.
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
