package scenariofile

import (
	"reflect"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/budgetfile"
)

// Scenario is the content of a scenario file. Make one with New, so that it has the defaults.
type Scenario struct {
	Config       Config             `yaml:"config"`
	Budget       *budgetfile.Budget `yaml:"budget"`      // how many nodes may be tainted; nil for no bounds
	Maintenance  time.Duration      `yaml:"maintenance"` // how long to spare nodes whose conditions announce maintenance; 0 means not at all
	Heartbeat    Heartbeat          `yaml:"heartbeat"`
	Cluster      Cluster            `yaml:"cluster"`
	Events       []simulation.Event `yaml:"events"`
	Availability []Availability     `yaml:"availability"`
	Reschedule   *Reschedule        `yaml:"reschedule"` // nil: no pod comes back
	Together     []string           `yaml:"together"`   // labels: pods that have one with the same value leave together
	Until        time.Duration      `yaml:"until"`      // inclusive
	Expect       []Expectation      `yaml:"expect"`     // bounds for the result
}

// Config has kube-controller-manager's flags by their names, which the halves of evictor.Config have too, and four more.
type Config struct {
	NodeMonitorPeriod         time.Duration `yaml:"nodeMonitorPeriod"` // 0 means exact, without passes
	NodeMonitorGracePeriod    time.Duration `yaml:"nodeMonitorGracePeriod"`
	NodeStartupGracePeriod    time.Duration `yaml:"nodeStartupGracePeriod"`
	NodeEvictionRate          float64       `yaml:"nodeEvictionRate"` // nodes a second in each zone
	SecondaryNodeEvictionRate float64       `yaml:"secondaryNodeEvictionRate"`
	LargeClusterSizeThreshold int           `yaml:"largeClusterSizeThreshold"` // nodes of a zone
	UnhealthyZoneThreshold    float64       `yaml:"unhealthyZoneThreshold"`    // in (0,1]
	PodEvictionTimeout        time.Duration `yaml:"podEvictionTimeout"`        // only without taint-based eviction
	TaintBasedEviction        bool          `yaml:"taintBasedEviction"`
	// UseEvictionAPI evicts through the API, which respects PodDisruptionBudgets. Otherwise pods are deleted, which
	// ignores them.
	UseEvictionAPI bool `yaml:"useEvictionAPI"`
	// LeaderElection says that the controllers have replicas, of which one leads, as by default in evictord and
	// kube-controller-manager. It matters in an outage of the API.
	LeaderElection bool `yaml:"leaderElection"`
	// KubeAPIQPS and KubeAPIBurst limit the writes of each of the controllers' two clients. 0 means no limit, and a burst of 30.
	KubeAPIQPS   float64 `yaml:"kubeAPIQPS"`
	KubeAPIBurst int     `yaml:"kubeAPIBurst"`
}

// Heartbeat says how kubelets renew and report.
type Heartbeat struct {
	Interval       time.Duration `yaml:"interval"`       // between lease renewals
	StatusInterval time.Duration `yaml:"statusInterval"` // between status reports
	NotReadyFor    time.Duration `yaml:"notReadyFor"`    // from a kubelet's start to its report that it is Ready
	// Spread is even: node i of n renews at i*interval/n + k*interval, k = 0, 1, …; or none: all at k*interval.
	Spread string `yaml:"spread"`
}

// Values of Heartbeat.Spread.
const (
	SpreadEven = "even"
	SpreadNone = "none"
)

// Cluster is what exists at time 0.
type Cluster struct {
	Files []string          `yaml:"files"` // have real objects; once loaded, paths that can be opened from here
	Zones []simulation.Zone `yaml:"zones"`
	// DefaultTolerationSeconds is what the API server adds to pods; nil means 300. It replaces exactly 300 in the files.
	DefaultTolerationSeconds *simulation.TolerationSeconds `yaml:"defaultTolerationSeconds"`
}

// Availability lets a recorded trace drive a zone: it says how many of its nodes are alive.
type Availability struct {
	Zone  string `yaml:"zone"`
	File  string `yaml:"file"`
	Scale *int   `yaml:"scale"` // how many nodes one unit stands for; nil means that the largest value stands for all
	// Gap and Alive are the content of File, which Load reads.
	Gap   time.Duration `yaml:"-"`
	Alive []int         `yaml:"-"`
}

// Reschedule brings back pods that a controller owns.
type Reschedule struct {
	After *time.Duration `yaml:"after"` // from the moment its controller may replace a pod to the first try; nil means 10 seconds
	Ready time.Duration  `yaml:"ready"` // from then to the moment when the pod is Ready
}

// New returns a scenario that has only the defaults.
func New() *Scenario {
	s := &Scenario{Heartbeat: Heartbeat{Interval: 10 * time.Second, StatusInterval: 5 * time.Minute, Spread: SpreadEven}}
	config := evictor.DefaultConfig()
	each(&s.Config, &config, func(ours, theirs reflect.Value) { ours.Set(theirs) })
	s.Config.LeaderElection = true
	return s
}

// Evictor returns the evictor's configuration.
func (c Config) Evictor() evictor.Config {
	config := evictor.DefaultConfig()
	each(&c, &config, func(ours, theirs reflect.Value) { theirs.Set(ours) })
	return config
}

// each calls visit for each field that the evictor's configuration has too.
func each(c *Config, of *evictor.Config, visit func(ours, theirs reflect.Value)) {
	ours := reflect.ValueOf(c).Elem()
	for _, theirs := range []reflect.Value{reflect.ValueOf(&of.Nodes).Elem(), reflect.ValueOf(of).Elem()} {
		for i := range ours.NumField() {
			if field := theirs.FieldByName(ours.Type().Field(i).Name); field.IsValid() {
				visit(ours.Field(i), field)
			}
		}
	}
}

// atOnce is the shortest time in which pods come back.
const atOnce = time.Millisecond

// simulation returns what a simulation plays, without the objects of files.
func (s *Scenario) simulation() simulation.Scenario {
	played := simulation.Scenario{
		Zones: s.Cluster.Zones, DefaultTolerationSeconds: s.Cluster.DefaultTolerationSeconds, Events: s.Events, Until: s.Until, Config: s.Config.Evictor(), AskBudgets: s.Config.UseEvictionAPI,
		LeaseInterval: s.Heartbeat.Interval, StatusInterval: s.Heartbeat.StatusInterval, NotReadyFor: s.Heartbeat.NotReadyFor, LeasesTogether: s.Heartbeat.Spread == SpreadNone,
		ReplaceAfter: -1, NoLeaderElection: !s.Config.LeaderElection, Together: s.Together,
		KubeAPIQPS: s.Config.KubeAPIQPS, KubeAPIBurst: s.Config.KubeAPIBurst,
	}
	if s.Reschedule != nil {
		played.ReplaceAfter, played.ReadyAfter = 10*time.Second, s.Reschedule.Ready
		if s.Reschedule.After != nil {
			played.ReplaceAfter = max(*s.Reschedule.After, atOnce)
		}
	}
	for i := range s.Availability {
		a := &s.Availability[i]
		trace := simulation.Trace{Zone: a.Zone, Gap: a.Gap, Alive: a.Alive}
		if a.Scale != nil {
			trace.Scale = *a.Scale
		}
		played.Traces = append(played.Traces, trace)
	}
	return played
}
