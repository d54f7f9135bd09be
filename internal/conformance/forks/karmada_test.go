package forks

import "testing"

// Karmada: its map of silent clusters becomes a health.Deadlines, the sleeps of each worker become one rate for all
// workers of a queue, and its tolerations become ours. Its DynamicRateLimiter stays, for the delay of failed items. That
// type cannot be a Limiter: Karmada's tests expect that When asks even the first item to wait, as workqueues need it, but
// a Limiter's bucket is full at first.
func TestKarmada(t *testing.T) {
	swap{
		variable: "EVICTKIT_KARMADA", module: "github.com/karmada-io/karmada", commit: "f8fdd02df376", testdata: "karmada",
		packages: []string{"./pkg/controllers/cluster/", "./pkg/util/helper/"}, uses: []string{"", "/evictor/compat"},
	}.run(t, func(c *checkout) {
		c.file("pkg/controllers/cluster/eviction_worker.go", func(f *file) {
			f.field("evictionWorker", "pacer", "limit *limiter.Limiter // nil: no limit")
			f.field("evictionWorker", "pacerKey", "")
			f.key("NewEvictionWorker", "pacer", "limit: newEvictionLimit(opts.EvictionQueueOptions)")
			f.key("NewEvictionWorker", "pacerKey", "")
			f.after("evictionWorker.processNextWorkItem", "Done", `if w.limit != nil && w.limit.Wait(ctx) != nil {
	return false // the context has ended
}`)
			f.statement("evictionWorker.processNextWorkItem", "", "pacer")
			f.use("", module+"/evictor/compat/limiter")
		})
		c.file("pkg/controllers/cluster/cluster_controller.go", silence)
		c.file("pkg/util/helper/taint.go", func(f *file) {
			f.body("GetMinTolerationTimeWithCurrentTime", `var begun []evictkit.Begun
	for _, taint := range noExecuteTaints {
		if taint.TimeAdded != nil {
			begun = append(begun, evictkit.Begun{Taint: taint, Start: taint.TimeAdded.Time})
		}
	}
	deadline := evictkit.DeadlineOf(begun, time.Time{}, usedTolerations, nil, false)
	if deadline.Forever {
		return -1
	}
	return max(0, deadline.At.Sub(currentTime))`)
			f.body("GetMatchingTolerations", `result := []corev1.Toleration{}
	for i := range taints {
		first := slices.IndexFunc(tolerations, func(t corev1.Toleration) bool { return evictkit.Tolerates(&t, &taints[i], false) })
		if first < 0 {
			return false, []corev1.Toleration{}
		}
		result = append(result, tolerations[first])
	}
	return true, result`)
			f.use("", "slices")
			f.use("evictkit", module+"/taints")
		})
	})
}

// silence has a health.Deadlines know which clusters have fallen silent.
func silence(f *file) {
	const update = "Controller.tryUpdateClusterHealth"
	f.drop("clusterHealthMap", "newClusterHealthMap", "clusterHealthMap.getDeepCopy", "clusterHealthMap.set",
		"clusterHealthMap.delete", "clusterHealthData", "clusterHealthData.deepCopy")
	for _, path := range [][]string{
		{"getDeepCopy"}, {"set"}, {"ClusterStartupGracePeriod", "clusterHealth"}, // what was known
		{"savedCondition"}, {"savedLease"}, {"lease"}, {"DeepEqual"}, // a condition that changes
	} {
		f.statement(update, "", path...)
	}
	f.statement(update, `if err != nil {
	observedLease = nil
}
silence, late := c.clusterHealthMap.observe(cluster, observedLease, gracePeriod)`, "RenewTime")
	f.condition(update, "clusterConditionTypes", "late")
	f.call(update, "Sub", "silence")
	f.statement(update, "c.clusterHealthMap.wrote(cluster)", "clusterConditionTypes", "DeepEqual", "clusterHealthData")
}
