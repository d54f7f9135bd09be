package main

func Example() {
	main()
	// Output:
	// zone :a is in Normal at 0.1 nodes a second
	// the turn of node-1 because of no heartbeat
	// cancelled in time: true
	// it would stay: false 1m0s
}
