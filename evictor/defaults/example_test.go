package defaults_test

import (
	"fmt"

	"github.com/evictkit/evictkit/evictor/defaults"
)

func ExampleOf() {
	for _, version := range []string{"1.5", "v1.12.10", "1.18", "1.23", "v1.31.14", "1.32", "1.37", "1.40", "1.4", "new"} {
		config, err := defaults.Of(version)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(version, config.Nodes.NodeMonitorGracePeriod, config.Nodes.TaintBasedEviction)
	}
	// Output:
	// 1.5 40s false
	// v1.12.10 40s false
	// 1.18 40s true
	// 1.23 40s true
	// v1.31.14 40s true
	// 1.32 50s true
	// 1.37 50s true
	// 1.40 50s true
	// defaults of Kubernetes 1.4: versions before 1.5 have no zones
	// defaults of Kubernetes "new": could not parse "new" as version
}
