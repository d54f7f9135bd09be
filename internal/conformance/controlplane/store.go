package controlplane

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
)

// store is the plane's etcd, for writes that bypass the API server.
type store struct{ etcd *clientv3.Client }

// wire is the encoding of the API server and of its storage.
var wire = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// store connects to etcd, for as long as the plane runs.
func (p *Plane) store() (*store, error) {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{p.processes.Etcd.URL.String()}, DialTimeout: startTimeout, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd: %w", err)
	}
	return &store{etcd}, nil
}

// renew stores the renewal of a lease.
func (s *store) renew(ctx context.Context, lease *coordinationv1.Lease) error {
	stored := *lease
	stored.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	stored.ResourceVersion = ""
	return s.put(ctx, "/registry/leases/"+lease.Namespace+"/"+lease.Name, &stored)
}

// create stores a running, ready pod.
func (s *store) create(ctx context.Context, pod *v1.Pod) error {
	stored := *pod
	stored.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	stored.UID, stored.CreationTimestamp = uuid.NewUUID(), metav1.Now()
	stored.Status = runningNow()
	return s.put(ctx, "/registry/pods/"+pod.Namespace+"/"+pod.Name, &stored)
}

func (s *store) put(ctx context.Context, key string, object runtime.Object) error {
	value, err := runtime.Encode(wire, object)
	if err == nil {
		_, err = s.etcd.Put(ctx, key, string(value))
	}
	if err != nil {
		return fmt.Errorf("storing %s: %w", key, err)
	}
	return nil
}
