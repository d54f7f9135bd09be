package differential

// Rule is a deliberate difference. Row is the beginning of its row in the table of package evictor.
type Rule struct{ Name, Row string }

// The rules. Those of the first group change what ours is told, see compat; the second explains single lines; the third
// opens a window: from then on the two sides taint the nodes of a zone at different times.
var (
	ForgottenLease = Rule{"ForgottenLease", "lease and status report are separate"}
	RestartLoses   = Rule{"RestartLoses", "taints stay through a restart"}

	LiftInOneWrite   = Rule{"LiftInOneWrite", "NoSchedule and NoExecute are lifted"}
	OneWrite         = Rule{"OneWrite", "taints that are due together are one"}
	SparedPods       = Rule{"SparedPods", "completed and mirror pods stay"}
	Terminating      = Rule{"Terminating", "terminating pods are left alone"}
	AllDownNotMarked = Rule{"AllDownNotMarked", "pods are not marked not Ready while"}
	MarkedByVerdict  = Rule{"MarkedByVerdict", "pods are marked once in an outage"}
	MovedNotCanceled = Rule{"MovedNotCanceled", "a moved eviction is not reported as"}
	ReportedReady    = Rule{"ReportedReady", "nothing is evicted from a node that"}
	PassFirst        = Rule{"PassFirst", "a pass comes before the evictions"}
	OwnGrace         = Rule{"OwnGrace", "after a start, own-taint evictions"}
	EmptyZone        = Rule{"EmptyZone", "a zone without a node that counts"}
	FailedWrites     = Rule{"FailedWrites", "failed writes and evictions are"}

	AllDownGrace = Rule{"AllDownGrace", `after "every zone is down", nodes`}
	MissedSwap   = Rule{"MissedSwap", `"every zone is down" lifts what its`}
	Newcomer     = Rule{"Newcomer", `a Ready newcomer ends "every zone`}
	Vanished     = Rule{"Vanished", "a healthy zone that goes away leaves"}
	ZoneGrows    = Rule{"ZoneGrows", "a zone that grows beyond the large"}
	RateOfPass   = Rule{"RateOfPass", "the rate that a pass sets holds for"}
	SamePass     = Rule{"SamePass", "a node is tainted in the pass that"}
	IdleToken    = Rule{"IdleToken", "a node that is Ready again, or gone"}
	ExactToken   = Rule{"ExactToken", "a token is handed out at the instant"}
	SameSecond   = Rule{"SameSecond", "Ready that changes within the second"}
	TokenTwice   = Rule{"TokenTwice", "a token taints a node that is not"}
	RateOne      = Rule{"RateOne", "a rate of exactly 1 resumes"}
	RateZero     = Rule{"RateZero", "rate 0 holds no token"}
)

// Rules are all of them.
var Rules = []Rule{
	ForgottenLease, RestartLoses,
	LiftInOneWrite, OneWrite, SparedPods, Terminating, AllDownNotMarked, MarkedByVerdict, MovedNotCanceled, ReportedReady, PassFirst, OwnGrace, EmptyZone, FailedWrites,
	AllDownGrace, MissedSwap, Newcomer, Vanished, ZoneGrows, RateOfPass, SamePass, IdleToken, ExactToken, SameSecond, TokenTwice, RateOne, RateZero,
}
