package main

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	restfake "k8s.io/client-go/rest/fake"
	clienttesting "k8s.io/client-go/testing"
)

// client is client-go's fake clientset with what else the controllers need.
type client struct {
	*fake.Clientset
	mu      sync.Mutex
	watches []watch.Interface
}

func newClient(objects ...apiruntime.Object) *client {
	c := &client{Clientset: fake.NewSimpleClientset(objects...)}
	c.PrependReactor("update", "*", c.updateStatus)
	c.PrependReactor("*", "*", c.throttle)
	c.PrependWatchReactor("*", c.watch)
	return c
}

// watch records the watches, for throttle.
func (c *client) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	var options metav1.ListOptions
	if w, ok := action.(clienttesting.WatchActionImpl); ok {
		options = w.ListOptions
	}
	w, err := c.Tracker().Watch(action.GetResource(), action.GetNamespace(), options)
	if err != nil {
		return false, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches = append(c.watches, w)
	return true, w, nil
}

// throttle makes a write wait for a watch that has not been read, because the tracker panics when its buffer is full.
// The calls come one at a time.
func (c *client) throttle(clienttesting.Action) (bool, apiruntime.Object, error) {
	c.mu.Lock()
	watches := c.watches
	c.mu.Unlock()
	for _, w := range watches {
		for events := w.ResultChan(); len(events) > cap(events)/2; {
			runtime.Gosched()
		}
	}
	return false, nil, nil
}

// updateStatus writes only the status, as the API server does. The tracker would write the whole object, and so bring
// back taints that were removed meanwhile.
func (c *client) updateStatus(action clienttesting.Action) (bool, apiruntime.Object, error) {
	update, ok := action.(clienttesting.UpdateAction)
	if !ok || action.GetSubresource() != "status" {
		return false, nil, nil
	}
	resource := action.GetResource()
	switch next := update.GetObject().(type) {
	case *v1.Node:
		have, err := c.Tracker().Get(resource, "", next.Name)
		if node, ok := have.(*v1.Node); ok && err == nil {
			node.Status = next.Status
			return true, node, c.Tracker().Update(resource, node, "")
		}
		return true, nil, err
	case *v1.Pod:
		have, err := c.Tracker().Get(resource, next.Namespace, next.Name)
		if pod, ok := have.(*v1.Pod); ok && err == nil {
			pod.Status = next.Status
			return true, pod, c.Tracker().Update(resource, pod, next.Namespace)
		}
		return true, nil, err
	}
	return false, nil, nil
}

// CoreV1 has a RESTClient, through which the node lifecycle controller sends its events.
func (c *client) CoreV1() corev1.CoreV1Interface { return core{c.Clientset.CoreV1()} }

type core struct{ corev1.CoreV1Interface }

// RESTClient answers each request by its own body.
func (core) RESTClient() rest.Interface {
	return &restfake.RESTClient{
		NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		GroupVersion:         v1.SchemeGroupVersion,
		VersionedAPIPath:     "/api/v1",
		Client: restfake.CreateHTTPClient(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			return &http.Response{
				StatusCode: http.StatusCreated,
				Header:     http.Header{"Content-Type": {"application/json"}},
				Body:       io.NopCloser(bytes.NewReader(body)),
			}, nil
		}),
	}
}
