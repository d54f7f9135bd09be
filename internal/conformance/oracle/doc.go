// Package oracle plays scenarios with upstream's controllers.
package oracle

import (
	_ "github.com/evictkit/evictkit/examples/scenariofile" // until the oracle uses them
	_ "github.com/evictkit/evictkit/internal/simulator"
	_ "k8s.io/kubernetes/pkg/controller/nodelifecycle"
	_ "k8s.io/kubernetes/pkg/controller/tainteviction"
)
