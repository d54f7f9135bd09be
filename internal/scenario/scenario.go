package scenario

// Scenario is one scenario file. Optional fields for which zero has a meaning are pointers; Settings resolves them.
type Scenario struct {
	Config       Config      `yaml:"config"`
	Heartbeat    Heartbeat   `yaml:"heartbeat"`
	Cluster      Cluster     `yaml:"cluster"`
	Events       []Event     `yaml:"events"`
	Availability []ZoneTrace `yaml:"availability"`
	Reschedule   *Reschedule `yaml:"reschedule"`
	Until        *Duration   `yaml:"until"` // required; inclusive
	// Expect sets bounds for the result.
	Expect []Expectation `yaml:"expect"`
}

// Config has kube-controller-manager's flags by their names, and our own controller's additional ones.
type Config struct {
	NodeMonitorPeriod         *Duration `yaml:"nodeMonitorPeriod"` // 0 means exact, without passes
	NodeMonitorGracePeriod    *Duration `yaml:"nodeMonitorGracePeriod"`
	NodeStartupGracePeriod    *Duration `yaml:"nodeStartupGracePeriod"`
	NodeEvictionRate          *float64  `yaml:"nodeEvictionRate"` // nodes a second in each zone
	SecondaryNodeEvictionRate *float64  `yaml:"secondaryNodeEvictionRate"`
	LargeClusterSizeThreshold *int      `yaml:"largeClusterSizeThreshold"` // nodes of a zone
	UnhealthyZoneThreshold    *float64  `yaml:"unhealthyZoneThreshold"`    // in (0,1]
	PodEvictionTimeout        *Duration `yaml:"podEvictionTimeout"`        // only without taint-based eviction
	TaintBasedEviction        *bool     `yaml:"taintBasedEviction"`
	// UseEvictionAPI evicts through the API, which respects PodDisruptionBudgets. Otherwise pods are deleted, which
	// ignores them.
	UseEvictionAPI *bool `yaml:"useEvictionAPI"`
}

// Heartbeat says how kubelets renew and report.
type Heartbeat struct {
	Interval       *Duration `yaml:"interval"`       // between lease renewals
	StatusInterval *Duration `yaml:"statusInterval"` // between status reports
	Spread         *Spread   `yaml:"spread"`
}

// Spread says how the renewals of the nodes are spread over the interval.
type Spread string

// SpreadEven: node i of n renews at i*interval/n + k*interval, k = 1, 2, …; SpreadNone: all at k*interval.
const (
	SpreadEven Spread = "even"
	SpreadNone Spread = "none"
)

// Cluster is what exists at time 0.
type Cluster struct {
	// Files have real objects. The code that loads a scenario resolves paths that are relative to the scenario file.
	Files []string `yaml:"files"`
	Zones []Zone   `yaml:"zones"`
}

// Zone is a generated zone; its methods name the nodes and pods.
type Zone struct {
	Name                 string `yaml:"name"`   // also the zone label
	Region               string `yaml:"region"` // the region label; empty means none
	Nodes                int    `yaml:"nodes"`
	PodsPerNode          int    `yaml:"podsPerNode"`
	DaemonSetPodsPerNode int    `yaml:"daemonSetPodsPerNode"`
	// TolerationSeconds is for not-ready and unreachable, NoExecute; nil means Settings.TolerationSeconds.
	TolerationSeconds *TolerationSeconds `yaml:"tolerationSeconds"`
	NodeFields        `yaml:",inline"`
	Pod               PodFields `yaml:"pod"` // for all its pods except DaemonSets'
}

// ZoneTrace lets a recorded trace drive a zone: it says how many of its nodes are alive.
type ZoneTrace struct {
	Zone *string `yaml:"zone"` // a reference to a zone; required, but may be ""
	File string  `yaml:"file"`
	// Scale is how many nodes one unit of the trace stands for; nil means that the largest value stands for all.
	Scale *int `yaml:"scale"`
	// Trace is the content of File. The code that loads a scenario sets it; Check reports it if it is missing.
	Trace *Trace `yaml:"-"`
}

// Reschedule brings back pods that a controller owns.
type Reschedule struct {
	After *Duration `yaml:"after"` // from when its controller may replace a pod to the first try
}
