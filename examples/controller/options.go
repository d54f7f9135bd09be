package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
)

// options are the flags. Names and defaults are kube-controller-manager's where it has them.
type options struct {
	kubeconfig, master string
	qps                float32
	burst              int

	evictor     evictor.Config
	dryRun      bool
	evictionAPI bool

	leader leaderOptions

	metricsAddress, debugAddress string
	security                     securityOptions
	verbosity                    int
}

type leaderOptions struct {
	elect                                 bool
	leaseDuration, renewDeadline, retry   time.Duration
	resourceLock, resourceName, namespace string
}

const (
	metricsFlag = "metrics-address"
	debugFlag   = "debug-address"
	certFlag    = "tls-cert-file"
	keyFlag     = "tls-private-key-file"

	resourceNameFlag = "leader-elect-resource-name"
)

// parse reads the flags. The error is pflag.ErrHelp after --help, or names every flag at fault.
func parse(args []string, out io.Writer) (options, error) {
	o := options{evictor: evictor.DefaultConfig()}
	fs := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	fs.SetOutput(out)
	fs.SortFlags = false
	c := &o.evictor
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "file with the cluster and the credentials; none means those of the pod that this runs in")
	fs.StringVar(&o.master, "master", "", "address of the API server, instead of the kubeconfig's")
	fs.Float32Var(&o.qps, "kube-api-qps", 20, "requests a second to the API server, for nodes, for evictions and for events each")
	fs.IntVar(&o.burst, "kube-api-burst", 30, "requests that may go at once after a quiet time")

	fs.Var((*half)(&c.Half), "half", "what runs: both, lifecycle (verdicts and taints: the node-lifecycle controller) or taint-eviction (pods leave tainted nodes: the controller of that name)")
	fs.DurationVar(&c.NodeMonitorPeriod, "node-monitor-period", c.NodeMonitorPeriod, "time between two looks at the nodes; 0 gives verdicts exactly when they are due")
	fs.DurationVar(&c.NodeMonitorGracePeriod, "node-monitor-grace-period", c.NodeMonitorGracePeriod, "how long a running node may be silent before it is marked unhealthy")
	fs.DurationVar(&c.NodeStartupGracePeriod, "node-startup-grace-period", c.NodeStartupGracePeriod, "how long a starting node may be silent")
	fs.Float64Var(&c.NodeEvictionRate, "node-eviction-rate", c.NodeEvictionRate, "failed nodes a second and zone that are tainted while the zone is healthy")
	fs.Float64Var(&c.SecondaryNodeEvictionRate, "secondary-node-eviction-rate", c.SecondaryNodeEvictionRate, "the same in an unhealthy zone of more than --large-cluster-size-threshold nodes; smaller ones stop")
	fs.IntVar(&c.LargeClusterSizeThreshold, "large-cluster-size-threshold", c.LargeClusterSizeThreshold, "nodes of a zone above which it counts as large")
	fs.Float64Var(&c.UnhealthyZoneThreshold, "unhealthy-zone-threshold", c.UnhealthyZoneThreshold, "share of not ready nodes, three at least, that makes a zone unhealthy")
	fs.BoolVar(&c.TaintBasedEviction, "enable-taint-manager", c.TaintBasedEviction, "taint failed nodes NoExecute; false deletes their pods after --pod-eviction-timeout, as kube-controller-manager could up to 1.26")
	fs.DurationVar(&c.PodEvictionTimeout, "pod-eviction-timeout", c.PodEvictionTimeout, "see --enable-taint-manager")
	fs.Float64Var(&c.MaxNodesPerSecond, "max-nodes-per-second", c.MaxNodesPerSecond, "cap on the rates of all zones together; 0 is none")
	fs.IntVar(&c.MaxFailedNodes, "max-failed-nodes", c.MaxFailedNodes, "nodes that may be tainted by us at once; 0 is any number")
	fs.BoolVar(&o.evictionAPI, "use-eviction-api", false, "create Evictions, which respect disruption budgets, instead of deleting pods")
	fs.BoolVar(&o.dryRun, "dry-run", false, "decide and report everything, write nothing, hold no lease")

	fs.BoolVar(&o.leader.elect, "leader-elect", true, "act only while holding the lease, so that several replicas can run")
	fs.DurationVar(&o.leader.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long others wait after the leader's last renewal")
	fs.DurationVar(&o.leader.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long the leader tries to renew before it gives up; less than the lease duration")
	fs.DurationVar(&o.leader.retry, "leader-elect-retry-period", 2*time.Second, "time between two tries")
	fs.StringVar(&o.leader.resourceLock, "leader-elect-resource-lock", "leases", "only leases")
	fs.StringVar(&o.leader.resourceName, resourceNameFlag, "evictkit-controller", "name of the lease; with --half its default ends in -lifecycle or -taint-eviction, so that both halves can lead")
	fs.StringVar(&o.leader.namespace, "leader-elect-resource-namespace", "kube-system", "namespace of the lease")

	fs.StringVar(&o.metricsAddress, metricsFlag, ":10268", "where /metrics, /healthz and /readyz are served over TLS; empty is nowhere. /metrics is for whom the API server allows to get it")
	fs.StringVar(&o.debugAddress, debugFlag, "127.0.0.1:10269", "where /debug/evictor and /debug/pprof are served over TLS, for whom the API server allows to get them; empty is nowhere")
	fs.StringVar(&o.security.certFile, certFlag, "", "file with the certificate for both, and those that signed it; it is read again when it changes. None is one of this process's own, which nobody can verify")
	fs.StringVar(&o.security.keyFile, keyFlag, "", "file with its key")
	fs.BoolVar(&o.security.insecure, "insecure-serving", false, "serve both in plain HTTP, to everybody")
	fs.IntVarP(&o.verbosity, "v", "v", 2, "0 logs warnings, 2 what is written, 4 every decision")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if rest := fs.Args(); len(rest) > 0 {
		return o, fmt.Errorf("unknown argument %q", rest[0])
	}
	o.leader.elect = o.leader.elect && !o.dryRun // it would keep the lease from those that act
	if c.Half != evictor.Both && !fs.Changed(resourceNameFlag) {
		o.leader.resourceName += "-" + halves[c.Half]
	}
	return o, o.validate()
}

// validate reports every flag at fault.
func (o *options) validate() error {
	var errs []error
	refuse := func(flag string, value any, why string) {
		errs = append(errs, fmt.Errorf("--%s=%v: %s", flag, value, why))
	}
	if !(o.qps > 0) { // nor NaN, which client-go would take for no limit
		refuse("kube-api-qps", o.qps, "must be above 0")
	}
	if o.burst < 1 {
		refuse("kube-api-burst", o.burst, "must be at least 1")
	}
	for _, served := range []struct{ flag, address string }{{metricsFlag, o.metricsAddress}, {debugFlag, o.debugAddress}} {
		if _, _, err := net.SplitHostPort(served.address); served.address != "" && err != nil {
			refuse(served.flag, served.address, "must be host:port")
		}
	}
	o.security.validate(refuse)
	if o.evictor.Half == evictor.TaintEviction && !o.evictor.TaintBasedEviction {
		refuse("enable-taint-manager", false, "leaves --half=taint-eviction nothing to do")
	}
	if o.leader.elect {
		o.leader.validate(refuse)
	}
	return utilerrors.NewAggregate(append(errs, flagErrors(o.evictor.Validate())...))
}

func (s *securityOptions) validate(refuse func(flag string, value any, why string)) {
	switch {
	case (s.certFile == "") != (s.keyFile == ""):
		refuse(certFlag, s.certFile, "belongs with --"+keyFlag+": give both or neither")
	case s.certFile != "" && s.insecure:
		refuse(certFlag, s.certFile, "has no meaning with --insecure-serving")
	}
}

// podsOfANode is how many pods a kubelet runs unless it is told otherwise.
const podsOfANode = 110

// warnings are of flags that are allowed and hinder each other; each names both.
func (o *options) warnings() (all []string) {
	if needed := o.evictor.NodeEvictionRate * podsOfANode; evicts(o.evictor) && float64(o.qps) < needed {
		all = append(all, fmt.Sprintf("--kube-api-qps=%g: --node-eviction-rate=%g may evict %g pods a second in each zone (%d a node), and they will be late",
			o.qps, o.evictor.NodeEvictionRate, needed, podsOfANode))
	}
	return all
}

func (l *leaderOptions) validate(refuse func(flag string, value any, why string)) {
	if l.resourceLock != "leases" {
		refuse("leader-elect-resource-lock", l.resourceLock, "must be leases")
	}
	if l.resourceName == "" {
		refuse(resourceNameFlag, l.resourceName, "must not be empty")
	}
	if l.namespace == "" {
		refuse("leader-elect-resource-namespace", l.namespace, "must not be empty")
	}
	switch {
	case l.retry <= 0:
		refuse("leader-elect-retry-period", l.retry, "must be above 0")
	case l.renewDeadline.Seconds() <= leaderelection.JitterFactor*l.retry.Seconds():
		refuse("leader-elect-renew-deadline", l.renewDeadline, fmt.Sprintf("must be above %g times --leader-elect-retry-period", leaderelection.JitterFactor))
	}
	switch {
	case l.leaseDuration < time.Second: // a lease counts in whole ones, and 0 is refused by the API server again and again
		refuse("leader-elect-lease-duration", l.leaseDuration, "must be at least 1s")
	case l.leaseDuration <= l.renewDeadline:
		refuse("leader-elect-lease-duration", l.leaseDuration, "must be above --leader-elect-renew-deadline")
	case l.leaseDuration.Truncate(time.Second) < l.renewDeadline+clientgo.FinishWithin: // a lease shows others whole ones
		refuse("leader-elect-lease-duration", l.leaseDuration, fmt.Sprintf(
			"must be at least --leader-elect-renew-deadline and the %s in which a leader finishes its last writes, in whole seconds", clientgo.FinishWithin))
	}
}

// flagErrors names the flags of the fields that are at fault, and of those that these are compared with.
func flagErrors(err error) []error {
	var several utilerrors.Aggregate
	if !errors.As(err, &several) {
		return nil
	}
	var errs []error
	for _, one := range several.Errors() {
		var fault *field.Error
		if errors.As(one, &fault) {
			one = fmt.Errorf("%s=%v: %s", flagOf(fault.Field), fault.BadValue, fieldName.ReplaceAllStringFunc(fault.Detail, flagOf))
		}
		errs = append(errs, one)
	}
	return errs
}

func flagOf(field string) string {
	return "--" + strings.ToLower(capital.ReplaceAllString(field, "-$0"))
}

var (
	capital   = regexp.MustCompile("[A-Z]")
	fieldName = regexp.MustCompile("[a-z]+([A-Z][a-z]+)+")
)
