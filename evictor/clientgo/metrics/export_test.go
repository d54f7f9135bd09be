package metrics

import "github.com/prometheus/client_golang/prometheus"

// Evictions is the counter that has the zones as labels.
func (m *Metrics) Evictions() prometheus.Collector { return m.evictions }
