package forks

import "testing"

// Kueue: how long a workload tolerates a node's taints becomes ours. Its delay of 30 seconds for a node that is not
// Ready stays: that is three lines without a memory.
func TestKueue(t *testing.T) {
	swap{
		variable: "EVICTKIT_KUEUE", module: "sigs.k8s.io/kueue", commit: "ff69552e79ad", testdata: "kueue",
		packages: []string{"./pkg/controller/tas"}, uses: []string{""},
	}.run(t, func(c *checkout) {
		c.file("pkg/controller/tas/node_controller.go", func(f *file) {
			f.drop("taintToleration", "toleratedTemporarily", "toleratedPermanently", "untoleratedTaint", "checkTaintTolerations")
			f.statement("classifyTaints", `for i := range taints {
	one, leaves := taints[i:i+1], false
	keepsOff := slices.ContainsFunc(podSets, func(ps kueue.PodSet) bool {
		tolerations := ps.Template.Spec.Tolerations
		leaves = leaves || !evictkit.Tolerate(one, tolerations, false).Forever
		_, untolerated := evictkit.Untolerated(one, tolerations, false)
		return untolerated
	})
	switch {
	case keepsOff:
		untolerated = append(untolerated, taints[i])
	case leaves:
		temporarilyTolerated = append(temporarilyTolerated, taints[i])
	}
}`, "checkTaintTolerations")
			f.use("evictkit", module+"/taints")
		})
	})
}
