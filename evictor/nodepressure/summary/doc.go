// Package summary joins what a kubelet measures with what the API says of its pods, as a sample of the node for package
// nodepressure.
//
// Every kubelet serves its Summary API at /stats/summary: how much memory, file system space and process IDs its node
// has left, and what each pod uses. The kubelet's own eviction manager decides from the same figures. They do not say
// what a pod requests, what its priority is, or whether it is protected from eviction. The API has that:
//
//	body, err := client.CoreV1().RESTClient().Get(). // needs permission to get nodes/proxy
//		Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").DoRaw(ctx)
//	joined, err := summary.Join(body, pods) // pods: those bound to the node
//	decision := machine.Observe(joined.Stats)
//
// # What is joined
//
// Pods are joined by UID, never by name: a new pod may have the name of one that still runs. A static pod has two UIDs.
// The kubelet runs and measures it under one of its own, which is the hash of its manifest. In the API it is a mirror
// pod, whose UID is another, and whose annotation kubernetes.io/config.mirror (or kubernetes.io/config.hash) is that
// hash. It is joined by these.
//
// Only a pod that both sides know is in the sample, and can be evicted:
//
//   - A pod that only the Summary has runs, but its priority and its protection are not known. It may be a static pod
//     whose mirror is missing. It is in Unknown, and never evicted.
//   - A pod that only the API has does not run yet, or does not run any more, or was started after the sample. What it
//     uses is not known, and evicting it may free nothing. It is in Unmeasured, and not evicted because of this sample.
//     A kubelet, whose pods and samples come from one program, evicts such a pod first.
//   - A pod that has ended (Succeeded or Failed) is ignored, and so is what a late sample says of it.
//   - A signal that the Summary does not have is not in the sample. Its thresholds count as not met, and are in
//     Decision.Unmeasured. With only_cpu_and_memory=true, file systems and process IDs are missing.
//   - A file system that has no inodes at all does not count them, and there is no sample of them. A kubelet takes it
//     that none is free.
//
// A Summary does not say which of its file systems are the same: see nodepressure.Config.Layout. The documentation of
// package nodepressure has a table of what a kubelet measures for each signal.
//
// # Age
//
// A kubelet measures about every ten seconds, and what volumes and writable layers use about once a minute. So a sample
// is seconds old. If you ask more often you get the same sample again, and a Machine evicts no pod because of it. After
// an eviction, wait for a sample that was measured after the pod was gone, or another pod goes for the same shortage:
// examples/nodeagent does so. Times are those of the node's clock, in whole seconds.
package summary
