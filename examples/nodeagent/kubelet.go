package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/evictor/nodepressure/summary"
)

const (
	// tooOld is the age at which a figure says nothing any more. An agent on another machine than the kubelet needs a clock
	// that is right within less than that.
	tooOld = 2 * time.Minute
	// timeout is for one question to the kubelet.
	timeout = 10 * time.Second
	most    = 64 << 20 // bytes of a Summary
)

// reader asks for the Summary.
type reader func(context.Context) ([]byte, error)

// connect returns an agent for the node. It asks nothing yet.
func connect(f flags, out io.Writer) (*agent, error) {
	config, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	read := throughAPIServer(client, f.node)
	if f.kubelet != "" {
		if read, err = fromKubelet(f); err != nil {
			return nil, err
		}
	}
	return newAgent(f, client, read, out), nil
}

func newAgent(f flags, client kubernetes.Interface, read reader, out io.Writer) *agent {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", f.node).String()
	}))
	events := record.NewBroadcaster()
	return &agent{
		flags: f, client: client, read: read, out: out, factory: factory, pods: factory.Core().V1().Pods().Lister(),
		events: events, recorder: events.NewRecorder(scheme.Scheme, v1.EventSource{Component: "nodeagent", Host: f.node}),
		conditions: make(chan []v1.NodeConditionType, 1),
	}
}

// throughAPIServer asks the API server, which asks the kubelet.
func throughAPIServer(client kubernetes.Interface, node string) reader {
	return func(ctx context.Context) ([]byte, error) {
		return client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").Timeout(timeout).DoRaw(ctx)
	}
}

// fromKubelet asks the kubelet itself.
func fromKubelet(f flags) (reader, error) {
	at, err := url.JoinPath(f.kubelet, "stats/summary")
	switch {
	case err != nil:
		return nil, fmt.Errorf("--kubelet: %w", err)
	case (f.cert == "") != (f.key == ""):
		return nil, errors.New("--kubelet-cert and --kubelet-key need each other")
	case f.cert == "" && f.token == "":
		return nil, errors.New("--kubelet needs --kubelet-cert and --kubelet-key, or --kubelet-token")
	}
	client, err := rest.HTTPClientFor(&rest.Config{Host: f.kubelet, Timeout: timeout, BearerTokenFile: f.token, TLSClientConfig: rest.TLSClientConfig{CAFile: f.ca, CertFile: f.cert, KeyFile: f.key}})
	if err != nil {
		return nil, fmt.Errorf("--kubelet: %w", err)
	}
	return func(ctx context.Context) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return nil, err
		}
		response, err := client.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, most))
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s answers %s: %.200s", at, response.Status, body)
		}
		return body, err
	}, nil
}

// Stats implements nodepressure.StatsProvider: what the kubelet measures, joined with the pods that the informer has. A
// figure from before the end of the last eviction does not show what that gave back, and must not lead to another one.
func (a *agent) Stats(ctx context.Context) (nodepressure.Stats, error) {
	body, err := a.read(ctx)
	if err != nil {
		return nodepressure.Stats{}, err
	}
	// Pods are listed after the Summary. One that has just come has no sample, and is not evicted because of this one.
	pods, err := a.pods.List(labels.Everything())
	if err != nil {
		return nodepressure.Stats{}, err
	}
	joined, err := summary.Join(body, pods)
	if err != nil {
		return nodepressure.Stats{}, err
	}
	if joined.Node != a.node {
		return nodepressure.Stats{}, fmt.Errorf("this is the kubelet of node %q, not of %s", joined.Node, a.node)
	}
	for signal, sample := range joined.Signals {
		switch {
		case time.Since(sample.Time) > tooOld:
			delete(joined.Signals, signal) // then its thresholds are reported as not measured
		case sample.Time.UnixNano() <= a.gone.Load():
			return nodepressure.Stats{}, fmt.Errorf("%s was measured before the last pod was gone", signal)
		}
	}
	return joined.Stats, nil
}
