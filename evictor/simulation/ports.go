package simulation

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
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
		if sidecar(&spec.InitContainers[i]) {
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

// takesPorts says whether a pod takes ports of its node.
func (s *podSpec) takesPorts() bool { return s.needs != nil && len(s.needs.ports) > 0 }

// portsFree says whether no pod on a node takes a port that this one needs.
func (c *cluster) portsFree(n *node, s *podSpec) bool {
	if !s.takesPorts() {
		return true
	}
	for i := n.firstPod; i >= 0; i = c.pods[i].next {
		other := &c.pods[i]
		if other.phase.finished() || !other.spec.takesPorts() {
			continue
		}
		for _, taken := range other.spec.needs.ports {
			for _, wanted := range s.needs.ports {
				if wanted.conflicts(taken) {
					return false
				}
			}
		}
	}
	return true
}
