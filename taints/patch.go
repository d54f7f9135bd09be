package taints

import (
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Patch is the body of a JSON merge patch (types.MergePatchType) for the Node: the whole list of taints
// after the change, as Apply makes it of what was read. uid and resourceVersion, where not empty, are
// preconditions. The API server refuses a resourceVersion that is not the newest as Conflict, and the
// uid of another node as Invalid, for it takes it for an attempt to change the field; after either, read
// the node again. Because the list is written whole, a patch without resourceVersion undoes what others
// wrote to it in between.
func (c Change) Patch(have []v1.Taint, uid types.UID, resourceVersion string, now time.Time) ([]byte, error) {
	type metadata struct {
		UID             types.UID `json:"uid,omitempty"`
		ResourceVersion string    `json:"resourceVersion,omitempty"`
	}
	type spec struct {
		Taints []v1.Taint `json:"taints"`
	}
	body, err := json.Marshal(struct {
		Metadata metadata `json:"metadata"`
		Spec     spec     `json:"spec"`
	}{metadata{uid, resourceVersion}, spec{c.Apply(have, now)}})
	if err != nil {
		return nil, fmt.Errorf("taints: patch: %w", err)
	}
	return body, nil
}
