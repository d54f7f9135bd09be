//go:build thin

package evictor

import (
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/loop"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
)

// This package is the API before the cut, on top of the packages beside it, so that the old proofs judge the new code.
type (
	PodKey     = cluster.PodKey
	PodRef     = cluster.PodRef
	NodeStore  = cluster.NodeStore
	PodStore   = cluster.PodStore
	Target     = cluster.Target
	NodeWriter = nodelifecycle.NodeWriter
	Waiting    = nodelifecycle.Waiting
)

var ErrRunning = loop.ErrRunning
var ErrPaused = errPaused
