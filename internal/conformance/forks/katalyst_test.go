package forks

import "testing"

// Katalyst: the queues of its agent-healthz controller come from evictor/compat instead of k8s.io/kubernetes, and
// zone.DisruptionPolicy decides when they stop. Other packages of Katalyst still import k8s.io/kubernetes.
func TestKatalyst(t *testing.T) {
	const folder = "pkg/controller/lifecycle/agent-healthz/"
	swap{
		variable: "EVICTKIT_KATALYST", module: "github.com/kubewharf/katalyst-core", commit: "d8c28ea1549b",
		testdata: "katalyst", packages: []string{"./" + folder}, uses: []string{"", "/evictor/compat"},
	}.run(t, func(c *checkout) {
		for _, name := range []string{"healthz_controller.go", "helper/evict.go", "helper/taint_cnr.go"} {
			c.file(folder+name, func(f *file) {
				f.rename("k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler", module+"/evictor/compat/v126/scheduler")
				if name == "healthz_controller.go" {
					states(f)
				}
			})
		}
	})
}

// states has zone.DisruptionPolicy decide. The function's caller first passes the number of all nodes, not of the ready
// ones.
func states(f *file) {
	f.body("HealthzController.computeClusterState", `	policy := zone.DisruptionPolicy{UnhealthyThreshold: float64(threshold)}
	counts := zone.Counts{Total: readyNodes, Bad: notReadyNodes} // the caller passes the number of all nodes first
	switch policy.Decide(zone.Situation{Status: zone.Status{Counts: counts}}).State {
	case zone.FullDisruption:
		return stateFullDisruption
	case zone.PartialDisruption:
		return statePartialDisruption
	default:
		return stateNormal
	}`)
	f.use("", module+"/zone")
}
