package main

// The README shows the program and this output.
func Example() {
	main()
	// Output:
	// evicted: [a-0-p0 a-0-p1]
	// 00:00:00 node a-0: seen for the first time
	// 00:00:55 node a-0: no heartbeat seen for 55s (grace 50s), Ready True → Unknown
	// 00:00:55 node a-0: zone :a: Normal, 1 of 3 not ready, rate 0.1/s; waits for its turn
	// 00:00:55 node a-0: conditions set: Ready=Unknown, MemoryPressure=Unknown, DiskPressure=Unknown, PIDPressure=Unknown
	// 00:00:55 node a-0: taint unreachable:NoSchedule added, taint unreachable:NoExecute added
	// 00:00:55 pod default/a-0-p0: tolerates unreachable:NoExecute for 5m0s (tolerations[1]), due 00:05:55
	// 00:00:55 pod default/a-0-p0: marked not Ready, node a-0 is unreachable
	// 00:05:55 pod default/a-0-p0: evicted from node a-0: tolerated unreachable:NoExecute for 5m0s (tolerations[1])
}
