package main

import "github.com/prometheus/client_golang/prometheus"

// leading is the metric by which kube-controller-manager tells who leads, here of who may write: 1 in the leader, 0 in
// the others.
func leading(lease string, mayWrite func() error) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "leader_election_master_status", ConstLabels: prometheus.Labels{"name": lease},
		Help: "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
	}, func() float64 {
		if mayWrite() == nil {
			return 1
		}
		return 0
	})
}

// ledBy is what is measured of the leadership: nothing where nobody is elected.
func ledBy(o leaderOptions, mayWrite func() error) []prometheus.Collector {
	if !o.elect {
		return nil
	}
	return []prometheus.Collector{leading(o.resourceName, mayWrite)}
}
