package taints

import (
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Patch returns the body of a JSON merge patch (types.MergePatchType) for the Node: the whole list of taints after the
// change, as Apply makes it from have. uid and resourceVersion, if not empty, are preconditions. The API server refuses
// a resourceVersion that is not the newest with Conflict, and the uid of another node with Invalid, because it sees an
// attempt to change that field; after either, read the node again. The patch replaces the whole list: without
// resourceVersion, it undoes what others have written to it since. An error is one of encoding/json.
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
