package clientgo

import (
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// kept is the node as the informer will have it.
func (c *Cluster) kept(whole *v1.Node) *v1.Node {
	if c.opts.Informers != nil {
		return whole
	}
	return c.opts.kept().Node(whole)
}

// nodeStore shows the informer's nodes or, until the informer has caught up, nodes as our own writes left them.
type nodeStore struct {
	nodes  reader
	synced func() bool

	mu      sync.RWMutex
	written map[string]*v1.Node // guarded by mu: nodes newer than the informer's when they were written
}

func newNodeStore(nodes reader, synced func() bool) *nodeStore {
	return &nodeStore{nodes: nodes, synced: synced, written: make(map[string]*v1.Node)}
}

// Synced implements cluster.NodeStore.
func (s *nodeStore) Synced() bool { return s.synced() }

// Node implements cluster.NodeStore.
func (s *nodeStore) Node(name string) (*v1.Node, bool) {
	node, ok := s.informed(name)
	if !ok {
		return nil, false
	}
	return s.newest(node), true
}

// Nodes implements cluster.NodeStore.
func (s *nodeStore) Nodes(visit func(*v1.Node) bool) {
	for _, obj := range s.nodes.List() {
		if node, ok := obj.(*v1.Node); ok && !visit(s.newest(node)) {
			return
		}
	}
}

func (s *nodeStore) informed(name string) (*v1.Node, bool) {
	obj, ok, err := s.nodes.GetByKey(name)
	if err != nil || !ok {
		return nil, false
	}
	node, ok := obj.(*v1.Node)
	return node, ok
}

func (s *nodeStore) newest(node *v1.Node) *v1.Node {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if w, ok := s.written[node.Name]; ok && newer(w, node) {
		return w
	}
	return node
}

// wrote keeps the API server's answer to a write, unless the informer has that version or a newer one.
func (s *nodeStore) wrote(node *v1.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.informed(node.Name); ok && newer(node, known) {
		s.written[node.Name] = node
	}
}

// newer says whether a is a later version than b. resourceVersions count for the whole cluster, so a node that took
// another's name is later. Versions that are not numbers cannot be compared; newer is then false, and the informer's node
// is shown.
func newer(a, b *v1.Node) bool {
	va, errA := strconv.ParseUint(a.ResourceVersion, 10, 64)
	vb, errB := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return errA == nil && errB == nil && va > vb
}

// seen returns a handler that forgets a written node once the informer has caught up.
func (s *nodeStore) seen() cache.ResourceEventHandler {
	forget := func(obj any, gone bool) {
		node, ok := objectOf(obj).(*v1.Node)
		if !ok {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if w, ok := s.written[node.Name]; ok && (gone || !newer(w, node)) {
			delete(s.written, node.Name)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { forget(obj, false) },
		UpdateFunc: func(_, obj any) { forget(obj, false) },
		DeleteFunc: func(obj any) { forget(obj, true) },
	}
}

// objectOf returns the object itself, or the one in a tombstone.
func objectOf(obj any) any {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return obj
}
