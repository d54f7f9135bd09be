package evictor

import (
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/loop"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// What users of both halves need of the packages below.
type ( //nolint:revive // they are documented where they are
	NodeStore    = cluster.NodeStore
	PodStore     = cluster.PodStore
	PodKey       = cluster.PodKey
	PodRef       = cluster.PodRef
	Source       = cluster.Source
	Target       = cluster.Target
	Gate         = gate.Gate
	Act          = gate.Act
	Refused      = gate.Refused
	NodeWriter   = nodelifecycle.NodeWriter
	PodWriter    = nodelifecycle.PodWriter
	NodeDecision = nodelifecycle.Decision
	NodeStatus   = nodelifecycle.NodeStatus
	Waiting      = nodelifecycle.Waiting
	PodDecision  = tainteviction.Decision
	Eviction     = tainteviction.Eviction
)

// ErrRunning is the error of Step and Run while another Step or Run of the same Evictor is active.
var ErrRunning = loop.ErrRunning
