package scenario

import "time"

// Settings is what holds for a simulation once the defaults of scenario files have taken the place of
// what was left out.
type Settings struct {
	Edition int // Edition1 or Edition2

	NodeMonitorPeriod         time.Duration // 5s; 0 is exact
	NodeMonitorGracePeriod    time.Duration // 50s; 40s in edition 1
	NodeStartupGracePeriod    time.Duration // 60s
	NodeEvictionRate          float64       // 0.1 nodes a second and zone
	SecondaryNodeEvictionRate float64       // 0.01
	LargeClusterSizeThreshold int           // 50
	UnhealthyZoneThreshold    float64       // 0.55
	PodEvictionTimeout        time.Duration // 5m
	TaintBasedEviction        bool          // true

	HeartbeatInterval time.Duration // 10s
	StatusInterval    time.Duration // 5m
	Spread            Spread        // even

	TolerationSeconds TolerationSeconds // of generated pods that say nothing: 300; NoToleration in edition 1

	Reschedule      bool // pods that a controller owns come back
	RescheduleAfter time.Duration
	Until           time.Duration
}

// Defaults are the settings of a scenario that says nothing but its edition; 0 is the newest. They are the
// scenario format's own: the library's defaults may differ.
func Defaults(edition int) Settings {
	r := Settings{
		Edition:                   Edition2,
		NodeMonitorPeriod:         5 * time.Second,
		NodeMonitorGracePeriod:    50 * time.Second,
		NodeStartupGracePeriod:    60 * time.Second,
		NodeEvictionRate:          0.1,
		SecondaryNodeEvictionRate: 0.01,
		LargeClusterSizeThreshold: 50,
		UnhealthyZoneThreshold:    0.55,
		PodEvictionTimeout:        5 * time.Minute,
		TaintBasedEviction:        true,
		HeartbeatInterval:         10 * time.Second,
		StatusInterval:            5 * time.Minute,
		Spread:                    SpreadEven,
		TolerationSeconds:         300,
		RescheduleAfter:           10 * time.Second,
	}
	if edition == Edition1 {
		r.Edition = Edition1
		r.NodeMonitorGracePeriod = 40 * time.Second
		r.TolerationSeconds = NoToleration
	}
	return r
}

// Settings returns what the scenario says, and Defaults for the rest. It checks nothing.
func (s *Scenario) Settings() Settings {
	r := Defaults(s.Edition)
	duration(&r.NodeMonitorPeriod, s.Config.NodeMonitorPeriod)
	duration(&r.NodeMonitorGracePeriod, s.Config.NodeMonitorGracePeriod)
	duration(&r.NodeStartupGracePeriod, s.Config.NodeStartupGracePeriod)
	override(&r.NodeEvictionRate, s.Config.NodeEvictionRate)
	override(&r.SecondaryNodeEvictionRate, s.Config.SecondaryNodeEvictionRate)
	override(&r.LargeClusterSizeThreshold, s.Config.LargeClusterSizeThreshold)
	override(&r.UnhealthyZoneThreshold, s.Config.UnhealthyZoneThreshold)
	duration(&r.PodEvictionTimeout, s.Config.PodEvictionTimeout)
	override(&r.TaintBasedEviction, s.Config.TaintBasedEviction)
	duration(&r.HeartbeatInterval, s.Heartbeat.Interval)
	duration(&r.StatusInterval, s.Heartbeat.StatusInterval)
	override(&r.Spread, s.Heartbeat.Spread)
	if s.Reschedule != nil {
		r.Reschedule = true
		duration(&r.RescheduleAfter, s.Reschedule.After)
	}
	duration(&r.Until, s.Until)
	return r
}

func override[T any](value *T, given *T) {
	if given != nil {
		*value = *given
	}
}

func duration(value *time.Duration, given *Duration) {
	if given != nil {
		*value = time.Duration(*given)
	}
}
