// Package alerts tries the alerts and the dashboard of examples/controller with Prometheus' own engine: the
// alerts by the tests in testdata, which have promtool's format, and both on a run that is recorded of the
// controller's own metrics.
//
// promtool runs the tests too, but takes minutes and gigabytes to build, where the engine alone takes one minute:
//
//	yq .spec ../../../examples/controller/manifests/monitoring/rules.yaml >testdata/rules.yaml
//	promtool test rules testdata/alerts.yaml
//
// It is a module of its own, because nothing else shall need Prometheus.
package alerts
