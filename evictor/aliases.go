package evictor

import (
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/loop"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

type (
	// NodeStore reads nodes.
	NodeStore = cluster.NodeStore
	// PodStore reads pods.
	PodStore = cluster.PodStore
	// PodKey is a pod's namespace and name.
	PodKey = cluster.PodKey
	// PodRef is one pod, with its UID.
	PodRef = cluster.PodRef
	// Source tells the evictor what changes.
	Source = cluster.Source
	// Target is told; an Evictor is one.
	Target = cluster.Target
	// Clients are how the evictor sees and changes the cluster.
	Clients = nodelifecycle.Clients
	// NodeWriter writes nodes.
	NodeWriter = nodelifecycle.NodeWriter
	// PodWriter marks and evicts pods.
	PodWriter = nodelifecycle.PodWriter
	// NodeDecision is a decision about a node or a zone.
	NodeDecision = nodelifecycle.Decision
	// PodDecision is a decision about a pod on a tainted node.
	PodDecision = tainteviction.Decision
)

// ErrRunning is the error of Step and Run while another Step or Run of the same Evictor is active.
var ErrRunning = loop.ErrRunning
