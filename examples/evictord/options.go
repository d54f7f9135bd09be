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

// options are the flags. Where kube-controller-manager has a flag, its name and default are used.
type options struct {
	kubeconfig, master string
	qps                float32
	burst              int

	evictor     evictor.Config
	half        clientgo.Half
	announced   time.Duration
	dryRun      bool
	evictionAPI bool

	brakes, budget string

	leader leaderOptions

	metricsAddress, debugAddress string
	security                     securityOptions
	verbosity                    int
	loggingFormat                string
	version                      bool // print it and do nothing else
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

	brakesFlag    = "brakes"
	budgetFlag    = "budget"
	announcedFlag = "announced-maintenance"
	halfFlag      = "half"

	taintManagerFlag = "enable-taint-manager"

	loggingFlag            = "logging-format"
	textFormat, jsonFormat = "text", "json"
)

// parse reads the flags. The error is pflag.ErrHelp after --help, or names every flag at fault.
func parse(args []string, out io.Writer) (options, error) {
	o := options{evictor: evictor.DefaultConfig()}
	fs := pflag.NewFlagSet("evictord", pflag.ContinueOnError)
	fs.SetOutput(out)
	fs.SortFlags = false
	c := &o.evictor.Nodes
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "file with the cluster's address and the credentials; empty means the service account of its own pod")
	fs.StringVar(&o.master, "master", "", "address of the API server, in place of the kubeconfig's")
	fs.Float32Var(&o.qps, "kube-api-qps", 20, "requests a second to the API server, for each of three clients: nodes, evictions and events")
	fs.IntVar(&o.burst, "kube-api-burst", 30, "how many requests each client may send at once after a quiet time")

	fs.Var((*half)(&o.half), halfFlag, "which controllers run: both, lifecycle (node-lifecycle: verdicts and taints) or taint-eviction (evicts pods from tainted nodes)")
	fs.DurationVar(&c.NodeMonitorPeriod, "node-monitor-period", c.NodeMonitorPeriod, "time between two passes over the nodes; 0 means no passes: decide exactly at each deadline")
	fs.DurationVar(&c.NodeMonitorGracePeriod, "node-monitor-grace-period", c.NodeMonitorGracePeriod, "how long a running node may stay silent before it is marked Unknown")
	fs.DurationVar(&c.NodeStartupGracePeriod, "node-startup-grace-period", c.NodeStartupGracePeriod, "how long a node that has never reported may stay silent before it is marked Unknown")
	fs.Float64Var(&c.NodeEvictionRate, "node-eviction-rate", c.NodeEvictionRate, "how many failed nodes a second are tainted in each zone while the zone is healthy")
	fs.Float64Var(&c.SecondaryNodeEvictionRate, "secondary-node-eviction-rate", c.SecondaryNodeEvictionRate, "the same in an unhealthy zone of more than --large-cluster-size-threshold nodes; in smaller unhealthy zones the rate is 0")
	fs.IntVar(&c.LargeClusterSizeThreshold, "large-cluster-size-threshold", c.LargeClusterSizeThreshold, "number of nodes above which a zone counts as large")
	fs.Float64Var(&c.UnhealthyZoneThreshold, "unhealthy-zone-threshold", c.UnhealthyZoneThreshold, "share of nodes not ready, at least three, that makes a zone unhealthy")
	fs.BoolVar(&c.TaintBasedEviction, taintManagerFlag, c.TaintBasedEviction, "taint failed nodes NoExecute, and evict pods from tainted nodes; if false, delete the pods of failed nodes after --pod-eviction-timeout, as kube-controller-manager could up to 1.26, and only --half=both acts on taints of others")
	fs.DurationVar(&c.PodEvictionTimeout, "pod-eviction-timeout", c.PodEvictionTimeout, "how long after its failure a node loses its pods, with --enable-taint-manager=false")
	fs.Float64Var(&c.MaxNodesPerSecond, "max-nodes-per-second", c.MaxNodesPerSecond, "cap on the rates of all zones together; 0 means no cap")
	fs.DurationVar(&o.announced, announcedFlag, 0, "how long to spare a node whose conditions announce maintenance (MaintenancePlanned, MaintenanceInProgress, DrainInProgress, Drained, GracefulNodeShutdownInProgress); 0 means not at all")
	fs.BoolVar(&o.evictionAPI, "use-eviction-api", false, "create Evictions, which respect disruption budgets, instead of deleting pods")
	fs.BoolVar(&o.dryRun, "dry-run", false, "decide and report everything, write nothing, hold no lease")
	fs.StringVar(&o.brakes, brakesFlag, "", "NAMESPACE/NAME of a ConfigMap, read every 2 s, in which operators stop all, zone.REGION.ZONE or node.NAME, each with a reason; empty means none")
	fs.StringVar(&o.budget, budgetFlag, "", "YAML file with bounds on how many nodes may be tainted, read at the start; empty means none")

	o.leader.flags(fs)

	fs.StringVar(&o.metricsAddress, metricsFlag, ":10268", "address that serves /metrics, /healthz and /readyz over TLS; empty means none. /metrics needs authorization by the API server")
	fs.StringVar(&o.debugAddress, debugFlag, "127.0.0.1:10269", "address that serves /debug/evictor and /debug/pprof over TLS, to clients that the API server authorizes; empty means none")
	fs.StringVar(&o.security.certFile, certFlag, "", "file with the certificate chain for both addresses, reloaded when it changes; empty means a self-signed certificate")
	fs.StringVar(&o.security.keyFile, keyFlag, "", "file with the key of --tls-cert-file")
	fs.BoolVar(&o.security.insecure, "insecure-serving", false, "serve both addresses in plain HTTP, without authorization")
	fs.IntVarP(&o.verbosity, "v", "v", 2, "log level: 0 logs warnings, 2 also writes, 4 every decision")
	fs.StringVar(&o.loggingFormat, loggingFlag, textFormat, "format of the log: text, or json with the keys of Kubernetes' components")
	fs.BoolVar(&o.version, "version", false, "print the version and exit")
	withdrawn(fs)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if rest := fs.Args(); len(rest) > 0 {
		return o, fmt.Errorf("unknown argument %q", rest[0])
	}
	o.leader.elect = o.leader.elect && !o.dryRun // a dry run must not keep the lease from a replica that acts
	if o.half != clientgo.Both && !fs.Changed(resourceNameFlag) {
		o.leader.resourceName += "-" + halves[o.half]
	}
	if !c.TaintBasedEviction && !fs.Changed(halfFlag) { // no taint manager runs
		o.half = clientgo.Lifecycle
	}
	return o, o.validate()
}

// withdrawn makes flags that are gone say so, and what to use in their place.
func withdrawn(fs *pflag.FlagSet) {
	for flag, instead := range map[string]string{
		"max-failed-nodes": "is gone: --budget, --max-nodes-per-second and --brakes bound what is done",
		"max-marked-nodes": "is gone: the pods of all silent nodes are marked not Ready; --brakes holds a node",
		"mark-all-after":   "is gone: the pods of all silent nodes are marked not Ready",
	} {
		fs.Func(flag, instead, func(string) error { return errors.New(instead) })
		_ = fs.MarkHidden(flag) // it is defined
	}
}

func (l *leaderOptions) flags(fs *pflag.FlagSet) {
	fs.BoolVar(&l.elect, "leader-elect", true, "act only while holding the lease, so that several replicas can run")
	fs.DurationVar(&l.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long other replicas wait after the leader's last renewal before they take the lease")
	fs.DurationVar(&l.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long the leader tries to renew before it gives up; less than the lease duration")
	fs.DurationVar(&l.retry, "leader-elect-retry-period", 2*time.Second, "time between two attempts to get or renew the lease")
	fs.StringVar(&l.resourceLock, "leader-elect-resource-lock", "leases", "kind of the lock; only leases is supported")
	fs.StringVar(&l.resourceName, resourceNameFlag, "evictkit-controller", "name of the lease; with --half the default ends in -lifecycle or -taint-eviction, so that each half has its own")
	fs.StringVar(&l.namespace, "leader-elect-resource-namespace", "kube-system", "namespace of the lease")
}

// validate reports every flag at fault.
func (o *options) validate() error {
	var errs []error
	refuse := func(flag string, value any, why string) {
		errs = append(errs, fmt.Errorf("--%s=%v: %s", flag, value, why))
	}
	if !(o.qps > 0) { // false for NaN too, which client-go would take as no limit
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
	o.validateBrakes(refuse)
	if o.loggingFormat != textFormat && o.loggingFormat != jsonFormat {
		refuse(loggingFlag, o.loggingFormat, "must be text or json")
	}
	if o.half == clientgo.TaintEviction && !o.evictor.Nodes.TaintBasedEviction {
		refuse(taintManagerFlag, false, "leaves --half=taint-eviction nothing to do")
	}
	if o.leader.elect {
		o.leader.validate(refuse)
	}
	return utilerrors.NewAggregate(append(errs, flagErrors(o.evictor.Nodes.Validate())...))
}

func (o *options) validateBrakes(refuse func(flag string, value any, why string)) {
	namespace, name, _ := strings.Cut(o.brakes, "/")
	if o.brakes != "" && (namespace == "" || name == "" || strings.Contains(name, "/")) {
		refuse(brakesFlag, o.brakes, "must be NAMESPACE/NAME")
	}
	if o.budget != "" && o.half == clientgo.TaintEviction {
		refuse(budgetFlag, o.budget, "has no meaning with --half=taint-eviction, which taints no nodes")
	}
	if o.announced > 0 && o.half == clientgo.TaintEviction {
		refuse(announcedFlag, o.announced, "has no meaning with --half=taint-eviction, which taints no nodes")
	}
	if o.announced < 0 {
		refuse(announcedFlag, o.announced, "must not be negative; 0 ignores announcements")
	}
}

func (s *securityOptions) validate(refuse func(flag string, value any, why string)) {
	switch {
	case (s.certFile == "") != (s.keyFile == ""):
		refuse(certFlag, s.certFile, "belongs with --"+keyFlag+": give both or neither")
	case s.certFile != "" && s.insecure:
		refuse(certFlag, s.certFile, "has no meaning with --insecure-serving")
	}
}

// podsOfANode is the kubelet's default for the most pods of a node, and leaseRenewed for how often it renews its lease: a
// quarter of nodeLeaseDurationSeconds.
const (
	podsOfANode  = 110
	leaseRenewed = 10 * time.Second
)

// warnings name pairs of flags that are valid but work against each other.
func (o *options) warnings() (all []string) {
	if needed := o.evictor.Nodes.NodeEvictionRate * podsOfANode; o.evicts() && float64(o.qps) < needed {
		all = append(all, fmt.Sprintf("--kube-api-qps=%g is too low: --node-eviction-rate=%g may evict %g pods a second in each zone (%d a node), which will be late",
			o.qps, o.evictor.Nodes.NodeEvictionRate, needed, podsOfANode))
	}
	if grace := o.evictor.Nodes.NodeMonitorGracePeriod; o.half != clientgo.TaintEviction && !keeps(grace, leaseRenewed) {
		all = append(all, fmt.Sprintf("--node-monitor-grace-period=%s is too short: kubelets renew their leases every %s unless nodeLeaseDurationSeconds says otherwise, so nodes that are well become Unknown between two renewals",
			grace, leaseRenewed))
	}
	if o.half == clientgo.Lifecycle && !o.evictor.Nodes.TaintBasedEviction {
		all = append(all, "--enable-taint-manager=false: NoExecute taints evict nobody, whoever sets them, unless another taint manager runs; --half=both acts on those of others")
	}
	if timeout := o.evictor.Nodes.PodEvictionTimeout; o.evictor.Nodes.TaintBasedEviction && timeout != evictor.DefaultConfig().Nodes.PodEvictionTimeout {
		all = append(all, fmt.Sprintf("--pod-eviction-timeout=%s has no effect with --enable-taint-manager: pods leave as their tolerations end", timeout))
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
	case l.leaseDuration < time.Second: // a lease counts whole seconds, and the API server refuses 0
		refuse("leader-elect-lease-duration", l.leaseDuration, "must be at least 1s")
	case l.leaseDuration <= l.renewDeadline:
		refuse("leader-elect-lease-duration", l.leaseDuration, "must be above --leader-elect-renew-deadline")
	case l.leaseDuration.Truncate(time.Second) < l.renewDeadline+clientgo.FinishWithin: // other replicas see whole seconds
		refuse("leader-elect-lease-duration", l.leaseDuration, fmt.Sprintf(
			"must be at least --leader-elect-renew-deadline and the %s in which a leader finishes its last writes, in whole seconds", clientgo.FinishWithin))
	}
}

// flagErrors turns field errors into flag errors, also where the detail names another field.
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
