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
	CameBack         = rule.New("CameBack", "a taint that went and came back while")
	TimeoutAtPass    = rule.New("TimeoutAtPass", "without taints, a timeout ends at a pass")
	BothWays         = rule.New("BothWays", "deadlines are recomputed in both")
	MovedNotCanceled = rule.New("MovedNotCanceled", "a moved eviction is not reported as")
	ReportedReady    = rule.New("ReportedReady", "our taints evict nothing from a node")
	Renewing         = rule.New("Renewing", "an Unknown node that renews its lease")
	PassFirst        = rule.New("PassFirst", "a pass comes before the evictions")
	OwnGrace         = rule.New("OwnGrace", "after a start, own-taint evictions")
	EmptyZone        = rule.New("EmptyZone", "a zone without a node that counts is")
	FailedWrites     = rule.New("FailedWrites", "failed writes and evictions are")

	StartGrace   = rule.New("StartGrace", "who begins to watch waits for one")
	AllDownGrace = rule.New("AllDownGrace", `after "every zone is down", nodes`)
	MissedSwap   = rule.New("MissedSwap", `"every zone is down" lifts what its`)
	Newcomer     = rule.New("Newcomer", `a Ready newcomer ends "every zone`)
	Vanished     = rule.New("Vanished", "a healthy zone that goes away leaves")
	ZoneGrows    = rule.New("ZoneGrows", "a zone that grows beyond the large")
	RateOfPass   = rule.New("RateOfPass", "the rate that a pass sets holds for")
	SamePass     = rule.New("SamePass", "a node is tainted in the pass that")
	IdleToken    = rule.New("IdleToken", "a node that is Ready again, or gone,")
	ExactToken   = rule.New("ExactToken", "a token is handed out at the instant")
	SameSecond   = rule.New("SameSecond", "Ready that changes within the second")
	TokenTwice   = rule.New("TokenTwice", "a token taints a node that is not")
	Requeued     = rule.New("Requeued", "a node keeps its turn while it waits")
	RateOne      = rule.New("RateOne", "a rate of exactly 1 resumes after 0")
	RateZero     = rule.New("RateZero", "rate 0 holds no token")
	StaleLease   = rule.New("StaleLease", "before its verdict becomes Unknown, a")
)

// Rules are all of them.
var Rules = []Rule{
	ForgottenLease, RestartLoses,
	LiftInOneWrite, OneWrite, SparedPods, Terminating, AllDownNotMarked, MarkedByVerdict, CameBack, TimeoutAtPass, BothWays, MovedNotCanceled, ReportedReady, Renewing, PassFirst, OwnGrace, EmptyZone, FailedWrites,
	StartGrace, AllDownGrace, MissedSwap, Newcomer, Vanished, ZoneGrows, RateOfPass, SamePass, IdleToken, ExactToken, SameSecond, TokenTwice, Requeued, RateOne, RateZero, StaleLease,
}
