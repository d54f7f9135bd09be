package scenario

// Scenario is one scenario file. Fields that may be left out, and for which zero means something, are
// pointers; Settings resolves them.
type Scenario struct {
	Edition      int         `yaml:"edition"` // Edition1 or Edition2, whose rules and defaults hold; 0: the newest
	Config       Config      `yaml:"config"`
	Heartbeat    Heartbeat   `yaml:"heartbeat"`
	Cluster      Cluster     `yaml:"cluster"`
	Events       []Event     `yaml:"events"`
	Availability []ZoneTrace `yaml:"availability"`
	Reschedule   *Reschedule `yaml:"reschedule"`
	Until        *Duration   `yaml:"until"` // required; inclusive
}

// Config holds kube-controller-manager's flags by their names.
type Config struct {
	NodeMonitorPeriod         *Duration `yaml:"nodeMonitorPeriod"` // 0 is exact: no grid
	NodeMonitorGracePeriod    *Duration `yaml:"nodeMonitorGracePeriod"`
	NodeStartupGracePeriod    *Duration `yaml:"nodeStartupGracePeriod"`
	NodeEvictionRate          *float64  `yaml:"nodeEvictionRate"` // nodes a second and zone
	SecondaryNodeEvictionRate *float64  `yaml:"secondaryNodeEvictionRate"`
	LargeClusterSizeThreshold *int      `yaml:"largeClusterSizeThreshold"` // nodes of a zone
	UnhealthyZoneThreshold    *float64  `yaml:"unhealthyZoneThreshold"`    // in (0,1]
	PodEvictionTimeout        *Duration `yaml:"podEvictionTimeout"`        // only without taint-based eviction
	TaintBasedEviction        *bool     `yaml:"taintBasedEviction"`
}

// Heartbeat says how kubelets renew and report.
type Heartbeat struct {
	Interval       *Duration `yaml:"interval"`       // between lease renewals
	StatusInterval *Duration `yaml:"statusInterval"` // between status reports
	Spread         *Spread   `yaml:"spread"`
}

// Spread says how the renewals of the nodes lie to each other.
type Spread string

// SpreadEven: node i of n renews at i*interval/n + k*interval, k = 1, 2, …; SpreadNone: all at k*interval.
const (
	SpreadEven Spread = "even"
	SpreadNone Spread = "none"
)

// Cluster is what exists at time 0.
type Cluster struct {
	// Files hold real objects. Who loads a scenario makes the paths relative to the scenario file usable.
	Files []string `yaml:"files"`
	Zones []Zone   `yaml:"zones"`
}

// Zone is a generated zone; its methods name the nodes and pods.
type Zone struct {
	Name                 string `yaml:"name"`   // also the zone label
	Region               string `yaml:"region"` // the region label; empty: none
	Nodes                int    `yaml:"nodes"`
	PodsPerNode          int    `yaml:"podsPerNode"`
	DaemonSetPodsPerNode int    `yaml:"daemonSetPodsPerNode"`
	// TolerationSeconds is for not-ready and unreachable, NoExecute; nil: Settings.TolerationSeconds.
	TolerationSeconds *TolerationSeconds `yaml:"tolerationSeconds"`
}

// ZoneTrace lets a recorded trace drive a zone: that many of its nodes are alive.
type ZoneTrace struct {
	Zone *string `yaml:"zone"` // a reference to a zone; required, but may be ""
	File string  `yaml:"file"`
	// Scale is how many nodes one unit of the trace stands for; nil: the share of the trace's largest value.
	Scale *int `yaml:"scale"`
	// Trace is what File holds. Who loads a scenario sets it; Check reports it missing.
	Trace *Trace `yaml:"-"`
}

// Reschedule brings pods back that a controller owns, by the rules of the edition.
type Reschedule struct {
	After *Duration `yaml:"after"` // from when the edition lets the pod be replaced to its first try of a node
}
