package pressure

// Rule is a deliberate difference. Row is the beginning of its row in the table of package evictor.
type Rule struct{ Name, Row string }

// The rules of decisions, of the manager's loop, of classes, of derived thresholds and of parsing.
var (
	ThresholdOrder = Rule{"ThresholdOrder", "of several thresholds that are due, hard"}
	PodTies        = Rule{"PodTies", "of equal pods the first by name goes"}
	InodeUnit      = Rule{"InodeUnit", "a request of storage is not taken from"}
	PodLevel       = Rule{"PodLevel", "requests of storage count in pods with"}
	FirstPass      = Rule{"FirstPass", "a container file system is watched from"}
	StaleOverGap   = Rule{"StaleOverGap", "a sample seen before is stale though one"}
	EmptySample    = Rule{"EmptySample", "after reclaiming, a sample of nothing is"}
	NoTransition   = Rule{"NoTransition", "without a transition period, conditions"}
	ConditionOrder = Rule{"ConditionOrder", "conditions have an order"}
	QOSStatus      = Rule{"QOSStatus", "the QoS class comes from resources"}
	NegativeGrace  = Rule{"NegativeGrace", "a negative maximal grace period defers to"}

	HardPreempts = Rule{"HardPreempts", "a hard eviction takes the place of a"}

	QOSSums   = Rule{"QOSSums", "requests above limits, which the API"}
	OneOfEach = Rule{"OneOfEach", "all thresholds of a file system count for"}

	ParseOff    = Rule{"ParseOff", "100.0%, 0.0% and the like turn a"}
	ParseStrict = Rule{"ParseStrict", "NaN%, 10%% and a minimum reclaim above"}
	EveryFault  = Rule{"EveryFault", "every fault of the settings is reported"}
)

// decisions are the rules that a replay can leave out.
var decisions = []Rule{
	ThresholdOrder, PodTies, InodeUnit, PodLevel, FirstPass, StaleOverGap, EmptySample, NoTransition, ConditionOrder, QOSStatus, NegativeGrace,
}

// acts are those of them that change what is done, not only what is said.
var acts = []Rule{ThresholdOrder, PodTies, InodeUnit, PodLevel, FirstPass, StaleOverGap, EmptySample, NegativeGrace}
