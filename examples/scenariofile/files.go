package scenariofile

import (
	"fmt"
	"os"

	"github.com/evictkit/evictkit/examples/objects"
	"github.com/evictkit/evictkit/internal/simulator"
)

// Left is what files hold and a simulation does not play.
type Left struct {
	Unbound int            // pods that are bound to none of the nodes
	Kinds   map[string]int // objects of other kinds than Node and Pod; nil: none
}

// ReadObjects streams the objects of the files into the cluster, the nodes of all files before the pods. It
// returns what it left out. What the cluster leaves out of the objects that it took, the cluster tells.
func ReadObjects(c *simulator.Cluster, files []string) (left Left, err error) {
	nodes := func(o objects.Object) error {
		if o.Node == nil {
			return nil
		}
		return c.AddNodeObject(o.Node)
	}
	pods := func(o objects.Object) error {
		if o.Pod == nil {
			return nil
		}
		bound, err := c.AddPodObject(o.Pod)
		if !bound {
			left.Unbound++
		}
		return err
	}
	for _, file := range files {
		count, err := stream(file, nodes)
		if err != nil {
			return Left{}, err
		}
		for kind, n := range count.Kinds {
			if left.Kinds == nil {
				left.Kinds = make(map[string]int)
			}
			left.Kinds[kind] += n
		}
	}
	for _, file := range files {
		if _, err := stream(file, pods); err != nil {
			return Left{}, err
		}
	}
	return left, nil
}

func stream(file string, visit func(objects.Object) error) (objects.Count, error) {
	r, err := os.Open(file)
	if err != nil {
		return objects.Count{}, fmt.Errorf("cluster.files: %w", err)
	}
	defer r.Close()
	return objects.StreamCount(r, file, visit)
}
