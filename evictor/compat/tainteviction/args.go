package tainteviction

import "k8s.io/apimachinery/pkg/types"

// NamespacedObject is a name with its namespace and, where it is known, the UID.
type NamespacedObject struct {
	types.NamespacedName
	UID types.UID
}

// String is namespace/name and, where there is one, :uid.
func (n NamespacedObject) String() string {
	s := n.NamespacedName.String()
	if n.UID != "" {
		s += ":" + string(n.UID)
	}
	return s
}

// MarshalLog is what structured logs show.
func (n NamespacedObject) MarshalLog() any {
	return struct {
		Name      string    `json:"name"`
		Namespace string    `json:"namespace,omitempty"`
		UID       types.UID `json:"uid,omitempty"`
	}{n.Name, n.Namespace, n.UID}
}

// WorkArgs is what a piece of work is about.
type WorkArgs struct {
	// Object has a UID if whoever added the work gave one.
	Object NamespacedObject
}

// KeyFromWorkArgs is namespace/name: the UID does not belong to it.
func (w *WorkArgs) KeyFromWorkArgs() string { return w.Object.NamespacedName.String() }

// NewWorkArgs returns WorkArgs without a UID.
func NewWorkArgs(name, namespace string) *WorkArgs {
	return &WorkArgs{NamespacedObject{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}
