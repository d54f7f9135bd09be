package frontend

import (
	"runtime"

	v1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

type freshNodes struct {
	coreinformers.NodeInformer
	session *session
}

type freshLister struct {
	corelisters.NodeLister
	session *session
}

func (n freshNodes) Lister() corelisters.NodeLister {
	return freshLister{n.NodeInformer.Lister(), n.session}
}

// Get returns the node once the cache has its newest version. The watch needs no virtual time for that. Get must not
// sleep, because the caller may hold locks that others wait for.
func (l freshLister) Get(name string) (*v1.Node, error) {
	for {
		n, err := l.NodeLister.Get(name)
		server := l.session.server
		server.mu.Lock()
		newest, exists := server.objects[nodes][name]
		dead := server.session != l.session
		server.mu.Unlock()
		if dead || exists == (err == nil) && (!exists || As[*v1.Node](newest).ResourceVersion == n.ResourceVersion) {
			return n, err
		}
		runtime.Gosched()
	}
}
