package differential

import "github.com/evictkit/evictkit/internal/conformance/rule"

// Rule is a deliberate difference.
type Rule = rule.Rule

// The rules. The first group changes our inputs, see compat. The second explains single lines. The third opens a
// window: from then on the two sides taint the nodes of a zone at different times.
var (
	ForgottenLease = rule.New("ForgottenLease", "lease and status report are separate")
	RestartLoses   = rule.New("RestartLoses", "taints stay through a restart")

	LiftInOneWrite   = rule.New("LiftInOneWrite", "NoSchedule and NoExecute are lifted")
	OneWrite         = rule.New("OneWrite", "taints that are due together are one")
	SparedPods       = rule.New("SparedPods", "completed and mirror pods stay")
	Terminating      = rule.New("Terminating", "terminating pods are left alone")
	AllDownNotMarked = rule.New("AllDownNotMarked", "pods are not marked not Ready while")
	MarkedByVerdict  = rule.New("MarkedByVerdict", "pods are marked once in an outage,")
	CameBack         = rule.New("CameBack", "a taint that went and came back unseen")
	TimeoutAtPass    = rule.New("TimeoutAtPass", "without taints, a timeout ends at a pass")
	BothWays         = rule.New("BothWays", "every change moves deadlines, in both")
	MovedNotCanceled = rule.New("MovedNotCanceled", "a moved eviction is not reported as")
	ReportedReady    = rule.New("ReportedReady", "our taints evict nothing from a node")
	Renewing         = rule.New("Renewing", "an Unknown node that renews its lease")
	PassFirst        = rule.New("PassFirst", "a pass comes before evictions due at the")
	EmptyZone        = rule.New("EmptyZone", "a zone without counted nodes is Normal")
	Swapped          = rule.New("Swapped", "after a swap, a pod leaves when its")
	Blind            = rule.New("Blind", "an evictor that cannot see the cluster")
	Afresh           = rule.New("Afresh", "a recreated node starts afresh")
	SameName         = rule.New("SameName", "pods are evicted by UID,")
	FailedWrites     = rule.New("FailedWrites", "failed writes and evictions are retried")

	StartGrace   = rule.New("StartGrace", "an evictor that begins to watch waits for")
	AllDownGrace = rule.New("AllDownGrace", `after "every zone is down", nodes`)
	MissedSwap   = rule.New("MissedSwap", `"every zone is down" also lifts the taints`)
	Newcomer     = rule.New("Newcomer", `a new Ready node ends "every zone is down"`)
	Vanished     = rule.New("Vanished", "when the only healthy zone disappears,")
	ZoneGrows    = rule.New("ZoneGrows", "a zone that grows beyond the large")
	RateOfPass   = rule.New("RateOfPass", "the rate that a pass sets applies to all")
	SamePass     = rule.New("SamePass", "a node is tainted in the pass that")
	IdleToken    = rule.New("IdleToken", "a node that is Ready again, or gone,")
	ExactToken   = rule.New("ExactToken", "a token is available at the instant at")
	SameSecond   = rule.New("SameSecond", "a change of Ready within one second counts")
	TokenTwice   = rule.New("TokenTwice", "a token goes to a node that is not tainted")
	Requeued     = rule.New("Requeued", "a node keeps its turn while it waits")
	RateOne      = rule.New("RateOne", "a rate of exactly 1 resumes after 0")
	RateZero     = rule.New("RateZero", "rate 0 holds no token")
	StaleLease   = rule.New("StaleLease", "before a silent node's verdict becomes")
)

// Rules are all of them.
var Rules = []Rule{
	ForgottenLease, RestartLoses,
	LiftInOneWrite, OneWrite, SparedPods, Terminating, AllDownNotMarked, MarkedByVerdict, CameBack, TimeoutAtPass, BothWays, MovedNotCanceled, ReportedReady, Renewing, PassFirst, EmptyZone, Swapped, Blind, Afresh, SameName, FailedWrites,
	StartGrace, AllDownGrace, MissedSwap, Newcomer, Vanished, ZoneGrows, RateOfPass, SamePass, IdleToken, ExactToken, SameSecond, TokenTwice, Requeued, RateOne, RateZero, StaleLease,
}
