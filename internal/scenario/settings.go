package scenario

import "time"

// Settings is what holds for a simulation once the defaults of scenario files have taken the place of
// what was left out.
type Settings struct {
	NodeMonitorPeriod         time.Duration // 5s; 0 is exact
	NodeMonitorGracePeriod    time.Duration // 40s
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

	Reschedule      bool // evicted pods that a controller owns come back
	RescheduleAfter time.Duration
	Until           time.Duration
}

// Defaults are the settings of a scenario that says nothing. They are the scenario format's own: the
// library's defaults may differ.
func Defaults() Settings {
	return Settings{
		NodeMonitorPeriod:         5 * time.Second,
		NodeMonitorGracePeriod:    40 * time.Second,
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
		RescheduleAfter:           10 * time.Second,
	}
}

// Settings returns what the scenario says, and Defaults for the rest. It checks nothing.
func (s *Scenario) Settings() Settings {
	r := Defaults()
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
