// Package summary turns what a kubelet serves into a sample of its node for package nodepressure.
//
// Every kubelet serves its Summary API at /stats/summary: what the node has left of memory, of its file systems and of
// process numbers, and what each pod uses. Its own eviction manager decides from the same figures, so who reads them
// can say what that kubelet is about to do, or try other thresholds on it. Whoever may get nodes/proxy reaches it
// through the API server:
//
//	body, err := client.CoreV1().RESTClient().Get().
//		Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").DoRaw(ctx)
//	stats, err := summary.Stats(body, pods) // pods: those bound to the node that have not ended
//	decision := machine.Observe(stats)
//
// What a summary does not say is not in the sample, and its thresholds are never met: with only_cpu_and_memory=true
// file systems and process numbers are missing. It does not say either which file systems are one: see
// nodepressure.Config.Layout.
//
// Times are those of the node's clock, in whole seconds. A kubelet measures every ten seconds or so: who asks more
// often gets the same sample again, and nothing is evicted because of it.
package summary
