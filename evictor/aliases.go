package evictor

import (
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

type (
	// PodKey is a pod's namespace and name.
	PodKey = cluster.PodKey
	// PodRef is one pod, with its UID.
	PodRef = cluster.PodRef
	// Target is told; an Evictor is one.
	Target = cluster.Target
	// Clients are how the evictor sees and changes the cluster.
	Clients = nodelifecycle.Clients
	// NodeDecision is a decision about a node or a zone.
	NodeDecision = nodelifecycle.Decision
	// PodDecision is a decision about a pod on a tainted node.
	PodDecision = tainteviction.Decision
)
