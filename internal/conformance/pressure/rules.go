package pressure

import "github.com/evictkit/evictkit/internal/conformance/rule"

// Rule is a deliberate difference.
type Rule = rule.Rule

// The rules of decisions, of the manager's loop, of classes, of derived thresholds and of parsing.
var (
	ThresholdOrder = rule.New("ThresholdOrder", "of several due thresholds, hard ones go")
	PodTies        = rule.New("PodTies", "of equal pods, the first by name goes")
	InodeUnit      = rule.New("InodeUnit", "a request for storage is not subtracted")
	PodLevel       = rule.New("PodLevel", "storage requests count in pods with")
	FirstPass      = rule.New("FirstPass", "a container file system is watched from")
	StaleOverGap   = rule.New("StaleOverGap", "a sample seen before is stale, even after")
	EmptySample    = rule.New("EmptySample", "after reclaiming, an empty sample is no")
	NoTransition   = rule.New("NoTransition", "without a transition period, conditions")
	ConditionOrder = rule.New("ConditionOrder", "conditions have a fixed order")
	QOSStatus      = rule.New("QOSStatus", "the QoS class comes from resources")
	NegativeGrace  = rule.New("NegativeGrace", "a negative maximal grace period defers to")
	Generation     = rule.New("Generation", "the condition of an evicted pod has no")

	HardPreempts = rule.New("HardPreempts", "a hard eviction takes the place of a")
	PassedOver   = rule.New("PassedOver", "a pod whose Kill hangs is passed over")

	OneOfEach = rule.New("OneOfEach", "all thresholds of a file system count for")

	ParseOff    = rule.New("ParseOff", "100.0%, 0.0% and the like turn a")
	ParseStrict = rule.New("ParseStrict", "NaN%, 10%%, 0x1p-1%, 1e1%, 99.9999999%")
	EveryFault  = rule.New("EveryFault", "every fault of the settings is reported")
)

// decisions are the rules that a replay can leave out.
var decisions = []Rule{
	ThresholdOrder, PodTies, InodeUnit, PodLevel, FirstPass, StaleOverGap, EmptySample, NoTransition, ConditionOrder, QOSStatus, NegativeGrace, Generation,
}

// acts are those of them that change what is done, not only what is reported.
var acts = []Rule{ThresholdOrder, PodTies, InodeUnit, PodLevel, FirstPass, StaleOverGap, EmptySample, NegativeGrace}
