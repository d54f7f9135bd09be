package evictor

import (
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
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
	// Gate permits each act, or not now.
	Gate = gate.Gate
	// Act is what a Gate is asked about.
	Act = gate.Act
	// Refused is "not now", of a Gate or of a writer.
	Refused = gate.Refused
	// NodeWriter writes nodes.
	NodeWriter = nodelifecycle.NodeWriter
	// NodeDecision is a decision about a node or a zone.
	NodeDecision = nodelifecycle.Decision
	// NodeStatus is what is known about a node.
	NodeStatus = nodelifecycle.NodeStatus
	// Waiting is a node that waits for its turn.
	Waiting = nodelifecycle.Waiting
	// PodDecision is a decision about a pod on a tainted node.
	PodDecision = tainteviction.Decision
	// Eviction is a pod that has to leave.
	Eviction = tainteviction.Eviction
)

// ErrRunning is the error of Step and Run while another Step or Run of the same Evictor is active.
var ErrRunning = loop.ErrRunning
