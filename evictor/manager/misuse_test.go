package manager

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	short := 12 * time.Second
	made := func(config *rest.Config, o ctrl.Options, settings evictor.Config, more Options) func() error {
		return func() error {
			if more.Registerer == nil {
				more.Registerer = prometheus.NewRegistry()
			}
			_, _, err := New(config, o, settings, more)
			return err
		}
	}
	settings := evictor.DefaultConfig()
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"no config", made(nil, ctrl.Options{}, settings, Options{}), "clientgo: config: Required value: how to reach the API server"},
		{"informers of one's own, some namespaces, and a lease that is too short", made(&rest.Config{}, ctrl.Options{
			LeaderElection: true, LeaseDuration: &short, Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{"shop": {}}},
		}, settings, Options{Cluster: clientgo.Options{Informers: func(context.Context, clientgo.Object) (clientgo.Informer, error) { return nil, nil }}}),
			"manager: [cluster.informers: Forbidden: must be nil: the informers are the manager's, " +
				"cache.defaultNamespaces: Forbidden: an evictor needs the pods of all namespaces: restrict other kinds in ByObject instead, " +
				`leaseDuration: Invalid value: "12s": must be at least renewDeadline (10s) and the 4s in which a leader finishes its last writes, in whole seconds]`},
		{"a lease without a namespace, outside of a pod", made(&rest.Config{}, ctrl.Options{LeaderElection: true, LeaderElectionID: "l"}, settings, Options{}),
			"manager: leaderElectionNamespace: Required value: outside a pod"},
		{"a lease without a name", made(&rest.Config{}, ctrl.Options{LeaderElection: true, LeaderElectionNamespace: "n"}, settings, Options{}),
			"leaderElectionID: Required value: the name of the lease"},
		{"a half for both", made(&rest.Config{}, ctrl.Options{}, settings, Options{Cluster: clientgo.Options{Half: clientgo.Lifecycle}}),
			"manager: cluster.half: Forbidden: New runs both halves, NewLifecycle and NewTaintEviction run one"},
		{"a hold for taint eviction alone", func() error {
			holds := evictor.Options{Hold: func(*v1.Node) (string, bool) { return "", false }}
			_, _, err := NewTaintEviction(&rest.Config{}, ctrl.Options{}, settings.Pods(), Options{Evictor: holds})
			return err
		}, "manager: evictor.hold: Forbidden: a taint eviction half does not ask it: the lifecycle half does"},
		{"zero settings", made(&rest.Config{}, ctrl.Options{}, evictor.Config{}, Options{}), "nodeMonitorGracePeriod: Invalid value"},
	})
}
