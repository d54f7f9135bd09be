// Package summary turns what a kubelet serves into a sample of its node for package nodepressure.
//
// Every kubelet serves its Summary API at /stats/summary: how much memory, file system space and process IDs its node
// has left, and what each pod uses. The kubelet's own eviction manager decides from the same figures, so with them you
// can predict what that kubelet is about to do, or try other thresholds on it. With permission to get nodes/proxy, you
// reach it through the API server:
//
//	body, err := client.CoreV1().RESTClient().Get().
//		Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").DoRaw(ctx)
//	stats, err := summary.Stats(body, pods) // pods: those bound to the node that have not ended
//	decision := machine.Observe(stats)
//
// The documentation of package cgroup says from where a kubelet takes each signal, and what it does not see. A signal
// that is missing in the summary is missing in the sample, and its thresholds are never met. With
// only_cpu_and_memory=true, file systems and process IDs are missing. Nor does a summary say which of its file systems
// are the same: see nodepressure.Config.Layout.
//
// Times are those of the node's clock, in whole seconds. A kubelet measures about every ten seconds. If you ask more
// often, you get the same sample again, and a Machine evicts no pod because of it.
package summary
