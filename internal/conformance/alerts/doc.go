// Package alerts tests the alerts and the dashboard of examples/evictord with Prometheus' own engine. The alerts run
// the tests in testdata, which have promtool's format. Alerts and dashboard also run on a recording of the controller's
// own metrics.
//
// promtool runs these tests too, but takes minutes and gigabytes to build; the engine alone takes one minute:
//
//	yq .spec ../../../examples/evictord/manifests/monitoring/rules.yaml >testdata/rules.yaml
//	promtool test rules testdata/alerts.yaml
//
// Prometheus and the operator are the newest that require no library newer than Kubernetes does, so that upstream's
// controllers beside this package are built with what Kubernetes was released with.
package alerts
