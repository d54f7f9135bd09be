package tainteviction

import compat "github.com/evictkit/evictkit/evictor/compat/tainteviction"

type (
	NamespacedObject = compat.NamespacedObject
	TimedWorker      = compat.TimedWorker
	TimedWorkerQueue = compat.TimedWorkerQueue
	WorkArgs         = compat.WorkArgs
)

var (
	CreateWorkerQueue = compat.CreateWorkerQueue
	NewWorkArgs       = compat.NewWorkArgs
)
