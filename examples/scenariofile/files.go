package scenariofile

import (
	"fmt"
	"os"

	"github.com/evictkit/evictkit/examples/objects"
	"github.com/evictkit/evictkit/internal/simulator"
)

// ReadObjects streams the objects of the files into the cluster, the nodes of all files before the pods. It
// returns how many pods are not bound to any of the nodes.
func ReadObjects(c *simulator.Cluster, files []string) (unbound int, err error) {
	for _, pass := range []func(objects.Object) error{
		func(o objects.Object) error {
			if o.Node == nil {
				return nil
			}
			return c.AddNodeObject(o.Node)
		},
		func(o objects.Object) error {
			if o.Pod == nil {
				return nil
			}
			bound, err := c.AddPodObject(o.Pod)
			if !bound {
				unbound++
			}
			return err
		},
	} {
		for _, file := range files {
			if err := stream(file, pass); err != nil {
				return 0, err
			}
		}
	}
	return unbound, nil
}

func stream(file string, visit func(objects.Object) error) error {
	r, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("cluster.files: %w", err)
	}
	defer r.Close()
	return objects.Stream(r, file, visit)
}
