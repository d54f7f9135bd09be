package controlplane

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/internal/conformance/controlplane/binaries"
)

// MadeUp is as much of an API server as a controller reads from while nothing fails, for clusters that no real one on
// this machine could hold. It makes up nodes, pods and leases page by page as they are listed. A watch of leases
// delivers every node's renewal once per Renewal. It accepts events, refuses other writes, and stores nothing.
type MadeUp struct {
	Zones, Nodes, PodsPerNode int
	Renewal                   time.Duration
	// Renewals counts the renewals that were sent.
	Renewals atomic.Int64
}

const protobufType = "application/vnd.kubernetes.protobuf"

// ServeHTTP implements http.Handler.
func (m *MadeUp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	list := m.lists()[r.URL.Path]
	switch {
	case r.URL.Path == "/version":
		fmt.Fprintf(w, `{"major":"1","minor":"36","gitVersion":%q}`, binaries.Version)
	case strings.HasSuffix(r.URL.Path, "/events") && r.Method == http.MethodPost:
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusCreated)
		_, _ = io.Copy(w, r.Body) // fails only if the writer is gone
	case list == nil || r.Method != http.MethodGet:
		http.NotFound(w, r)
	case query.Get("sendInitialEvents") != "":
		http.Error(w, "lists come in pages", http.StatusUnprocessableEntity)
	case query.Get("watch") != "":
		w.Header().Set("Content-Type", protobufType+";stream=watch")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // so that the reader sees the start of the watch
		if r.URL.Path == leasesPath {
			m.renew(r.Context(), w)
		}
		<-r.Context().Done()
	default:
		from, _ := strconv.Atoi(query.Get("continue"))
		limit, err := strconv.Atoi(query.Get("limit"))
		if err != nil {
			limit = m.Nodes * m.PodsPerNode
		}
		w.Header().Set("Content-Type", protobufType)
		_ = wire.Encode(list(from, limit), w) // fails only if the reader is gone
	}
}

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

func (m *MadeUp) lists() map[string]func(from, limit int) runtime.Object {
	return map[string]func(from, limit int) runtime.Object{
		"/api/v1/nodes": func(from, limit int) runtime.Object {
			meta, to := page(from, limit, m.Nodes)
			list := &v1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: meta}
			for i := from; i < to; i++ {
				list.Items = append(list.Items, m.node(i))
			}
			return list
		},
		"/api/v1/pods": func(from, limit int) runtime.Object {
			meta, to := page(from, limit, m.Nodes*m.PodsPerNode)
			list := &v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: meta}
			for i := from; i < to; i++ {
				list.Items = append(list.Items, m.pod(i))
			}
			return list
		},
		leasesPath: func(from, limit int) runtime.Object {
			meta, to := page(from, limit, m.Nodes)
			list := &coordinationv1.LeaseList{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "LeaseList"}, ListMeta: meta}
			for i := from; i < to; i++ {
				list.Items = append(list.Items, *m.lease(i, 1))
			}
			return list
		},
	}
}

// page returns the metadata of one page of a list of n objects, and where the page ends.
func page(from, limit, n int) (meta metav1.ListMeta, to int) {
	meta.ResourceVersion = "1"
	if to = min(n, from+limit); to < n {
		meta.Continue = strconv.Itoa(to)
	}
	return meta, to
}

// uid returns a UID in the format of API servers.
func uid(kind string, i int) types.UID {
	return types.UID(fmt.Sprintf("%06x00-0000-4000-8000-%012x", kind[:3], i))
}

// object returns the metadata of the i-th object of a kind.
func object(kind, namespace, name string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, ResourceVersion: strconv.Itoa(100_000_000 + i), CreationTimestamp: metav1.Now(),
		UID:           uid(kind, i),
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(managed)}},
	}
}

// managed is a managedFields entry of the usual size.
var managed = `{"f:status":{"f:conditions":{` + fmt.Sprintf("%01000d", 0) + `}}}`

func (m *MadeUp) nodeName(i int) string { return fmt.Sprintf("zone-%d-node-%d", i%m.Zones, i) }

func (m *MadeUp) node(i int) v1.Node {
	name := m.nodeName(i)
	node := v1.Node{ObjectMeta: object("node", "", name, i)}
	node.Labels = map[string]string{
		v1.LabelTopologyZone: fmt.Sprint("zone-", i%m.Zones), v1.LabelTopologyRegion: "region", v1.LabelHostname: name,
		v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
	}
	k := kubelet{since: metav1.Now()}
	node.Status.Conditions = k.conditions()
	for image := range 50 {
		node.Status.Images = append(node.Status.Images, v1.ContainerImage{Names: []string{fmt.Sprintf("registry.example/team/image-%d@sha256:%064d", image, i)}, SizeBytes: 1 << 28})
	}
	return node
}

func (m *MadeUp) pod(i int) v1.Pod {
	node := m.nodeName(i / m.PodsPerNode)
	fleet := Fleet{Config: FleetConfig{Toleration: 300 * time.Second}}
	pod := *fleet.Pod(fmt.Sprintf("deployment-%d-%010d-%05d", i%1000, i%1000, i), node)
	labels := pod.Labels
	pod.ObjectMeta = object("pod", fmt.Sprint("namespace-", i%1000), pod.Name, i)
	pod.Labels = labels
	main := &pod.Spec.Containers[0]
	for e := range 10 {
		main.Env = append(main.Env, v1.EnvVar{Name: fmt.Sprint("VARIABLE_", e), Value: fmt.Sprintf("%060d", i)})
	}
	pod.Status = runningNow()
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", Image: "none", ImageID: fmt.Sprintf("sha256:%064d", i), Ready: true}}
	return pod
}

// lease returns the lease of the i-th node at its n-th renewal.
func (m *MadeUp) lease(i, n int) *coordinationv1.Lease {
	now, seconds, name := metav1.NowMicro(), int32(40), m.nodeName(i)
	lease := &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: object("lease", v1.NamespaceNodeLease, name, n*m.Nodes+i),
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	lease.UID = uid("lease", i)
	lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: uid("node", i)}}
	return lease
}

// renew sends renewals, spread evenly, until ctx ends.
func (m *MadeUp) renew(ctx context.Context, w http.ResponseWriter) {
	const every = 10 * time.Millisecond
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	began, sent := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		due := int(float64(m.Nodes) * time.Since(began).Seconds() / m.Renewal.Seconds())
		if behind := int(float64(m.Nodes) / m.Renewal.Seconds()); due-sent > behind {
			began = time.Now().Add(-time.Duration(float64(sent) / float64(m.Nodes) * float64(m.Renewal)))
			continue // a slow reader gets no backlog; an API server would end the watch
		}
		for ; sent < due; sent++ {
			if m.send(w, m.lease(sent%m.Nodes, 2+sent/m.Nodes)) != nil {
				return
			}
			m.Renewals.Add(1)
		}
		if http.NewResponseController(w).Flush() != nil || ctx.Err() != nil {
			return
		}
	}
}

// send writes one event of a watch: its length and its content.
func (m *MadeUp) send(w http.ResponseWriter, lease *coordinationv1.Lease) error {
	raw, err := runtime.Encode(wire, lease)
	if err != nil {
		return err
	}
	event := metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: raw}}
	body, err := event.Marshal()
	if err != nil {
		return err
	}
	_, errLength := w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) //nolint:gosec // some hundreds
	_, err = w.Write(body)
	return errors.Join(errLength, err)
}
