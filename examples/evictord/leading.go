package main

import (
	"github.com/prometheus/client_golang/prometheus"
)

// leading is kube-controller-manager's metric of who leads. Here it is 1 in the replica that may write, 0 in the others.
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

// ledBy returns the metrics of the leader election, none if there is no election.
func ledBy(o leaderOptions, mayWrite func() error) []prometheus.Collector {
	if !o.elect {
		return nil
	}
	return []prometheus.Collector{leading(o.resourceName, mayWrite)}
}

// unread is 1 while leases of silent nodes cannot be read, so that nobody can say whether these nodes are alive.
func unread(leases func() error) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "evictkit_leases_unread", Help: "1 if reading the lease of a silent node has failed in the last two minutes.",
	}, func() float64 {
		if leases() != nil {
			return 1
		}
		return 0
	})
}
