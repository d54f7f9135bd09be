package placement

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/later"
)

// hostPort is a port of its node that a pod takes. Two pods may not take the same, of one address or of all.
type hostPort struct {
	IP       string // anyIP means all
	Protocol v1.Protocol
	Port     int32
}

const anyIP = "0.0.0.0"

// hostPorts returns those of the containers and sidecars.
func hostPorts(spec *v1.PodSpec) (all []hostPort) {
	add := func(container *v1.Container) {
		for i := range container.Ports {
			if p := &container.Ports[i]; p.HostPort > 0 {
				all = append(all, hostPort{cmp.Or(p.HostIP, anyIP), cmp.Or(p.Protocol, v1.ProtocolTCP), p.HostPort})
			}
		}
	}
	for i := range spec.InitContainers {
		if later.Sidecar(&spec.InitContainers[i]) {
			add(&spec.InitContainers[i])
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	return all
}

func (p hostPort) conflicts(q hostPort) bool {
	return p.Port == q.Port && p.Protocol == q.Protocol && (p.IP == q.IP || p.IP == anyIP || q.IP == anyIP)
}

// takePorts counts a pod that was added (+1) or removed (-1).
func (n *NodeInfo) takePorts(s *Spec, by int) {
	if by > 0 {
		n.ports = append(n.ports, s.needs().ports...)
		return
	}
	for _, port := range s.needs().ports {
		if at := slices.Index(n.ports, port); at >= 0 {
			n.ports = slices.Delete(n.ports, at, at+1)
		}
	}
}

// portsFree says whether no pod on a node takes a port that this one needs.
func (n *NodeInfo) portsFree(s *Spec) bool {
	return !slices.ContainsFunc(s.needs().ports, func(wanted hostPort) bool { return slices.ContainsFunc(n.ports, wanted.conflicts) })
}
