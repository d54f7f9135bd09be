package scenario

import "time"

// Settings is what applies to a simulation, with the defaults of scenario files filled in.
type Settings struct {
	NodeMonitorPeriod         time.Duration // 5s; 0 is exact
	NodeMonitorGracePeriod    time.Duration // 50s
	NodeStartupGracePeriod    time.Duration // 60s
	NodeEvictionRate          float64       // 0.1 nodes a second in each zone
	SecondaryNodeEvictionRate float64       // 0.01
	LargeClusterSizeThreshold int           // 50
	UnhealthyZoneThreshold    float64       // 0.55
	PodEvictionTimeout        time.Duration // 5m
	TaintBasedEviction        bool          // true
	UseEvictionAPI            bool          // false: pods are deleted

	HeartbeatInterval time.Duration // 10s
	StatusInterval    time.Duration // 5m
	Spread            Spread        // even

	TolerationSeconds TolerationSeconds // the default of generated pods: 300

	Reschedule      bool // whether pods that a controller owns come back
	RescheduleAfter time.Duration
	Until           time.Duration
}

// Defaults returns the settings of a scenario that sets nothing. They are the scenario format's own; the library's
// defaults may differ.
func Defaults() Settings {
	return Settings{
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
}

// Settings returns the scenario's settings, with Defaults for the rest. It checks nothing.
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
	override(&r.UseEvictionAPI, s.Config.UseEvictionAPI)
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

// Tolerated returns how long generated pods tolerate an outage of their node: what is given, or the general setting.
func (r *Settings) Tolerated(given *TolerationSeconds) TolerationSeconds {
	if given != nil {
		return *given
	}
	return r.TolerationSeconds
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
