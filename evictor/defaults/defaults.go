package defaults

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/evictkit/evictkit/evictor"
)

// Of returns evictor.DefaultConfig as it would be for a version of Kubernetes, such as "1.18" or "v1.23.17": before 1.32 a
// node may be silent for 40 s, and before 1.13 a failed node is emptied five minutes after its last heartbeat instead of
// tainted. A version that is newer than those that this package knows has the newest defaults. The error says that the text
// is no version, or one before 1.5, which had no zones.
func Of(kubernetes string) (evictor.Config, error) {
	config := evictor.DefaultConfig()
	v, err := version.ParseGeneric(kubernetes)
	switch {
	case err != nil:
		return config, fmt.Errorf("defaults of Kubernetes %q: %w", kubernetes, err)
	case v.LessThan(version.MustParseGeneric("1.5")):
		return config, fmt.Errorf("defaults of Kubernetes %s: versions before 1.5 have no zones", kubernetes)
	}
	if v.LessThan(version.MustParseGeneric("1.32")) {
		config.Nodes.NodeMonitorGracePeriod = 40 * time.Second
	}
	config.Nodes.TaintBasedEviction = v.AtLeast(version.MustParseGeneric("1.13"))
	return config, nil
}
