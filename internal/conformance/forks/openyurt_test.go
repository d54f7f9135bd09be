package forks

import "testing"

// OpenYurt: the queues and timed workers become those of evictor/compat, by the steps of MIGRATING.md. Its controller and
// its taint manager are not touched.
func TestOpenYurt(t *testing.T) {
	const folder = "pkg/yurtmanager/controller/nodelifecycle/scheduler/"
	private := []string{ // they read or set private names: the queue's, its clock, now
		"TestAddNode", "TestDelNode", "TestTryOrdering", "TestClear", "TestSwapLimiter",
		"TestExecuteDelayed", "TestCancel", "TestCancelAndReadd",
	}
	swap{
		variable: "EVICTKIT_OPENYURT", module: "github.com/openyurtio/openyurt", commit: "fbefb6baca66", testdata: "openyurt",
		packages: []string{"./pkg/yurtmanager/controller/nodelifecycle", "./" + folder}, uses: []string{"", "/evictor/compat"},
		out: private,
	}.run(t, func(c *checkout) {
		c.remove(folder+"rate_limited_queue.go", folder+"timed_workers.go")
		c.added("v126/scheduler/compat.go", folder+"compat.go")
		c.file(folder+"rate_limited_queue_test.go", func(f *file) {
			f.drop(append(private[:5:5], "CheckQueueEq")...)
			for _, test := range []string{"TestTry", "TestAddAfterTry"} {
				f.selector(test, "set", "deletedMap") // only for the message of a failure
			}
		})
		c.file(folder+"timed_workers_test.go", func(f *file) { f.drop(private[5:]...) })
	})
}
