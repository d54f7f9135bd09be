package node

import (
	"cmp"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/zone"
)

// Stage is how far the eviction of a node is, as far as nobody else knows it: whether it waits in its domain or has its turn is
// known to the turns, and whether it is tainted to its object.
type Stage uint8

// The stages. Judge begins and ends an outage; within it a node goes from Waiting to Served, and from both to Watched and back.
// Where nothing is tainted it goes by Emptying, from which it may come back.
const (
	New      Stage = iota // no verdict has fallen
	Calm                  // it is Ready by its verdict
	Watched               // it failed before the clocks started anew, and must be silent for one more grace
	Waiting               // it failed, and is to be acted on when it has its turn
	Emptying              // it failed, has its turn, and its pods are being evicted, where nothing is tainted
	Served                // it failed, and was emptied, where nothing is tainted: what comes to it goes at once
)

// word is what stands between a verdict and the node's object.
type word uint8

const (
	agreed    word = iota // nothing
	unwritten             // it is silent, which is to be written to its status
	heard                 // it was Unknown, and a sign of life was seen since: the next verdict decides
)

// Belongs says where a node counts, if it does.
type Belongs struct {
	Zone     zone.Key
	Excluded bool
}

// Record is what is remembered of one node. The zero Record is of one that nobody has looked at. Check finds what must not be.
type Record struct {
	// As of the last look at its object: the domain that it belongs to, whether it does not count there, why the program holds
	// it, and whether it carries our NoExecute taint, which is never so where nothing is tainted.
	Belongs
	Hold    string
	Tainted bool
	says    v1.ConditionStatus // what its kubelet says, or we in its place

	PodsChanged bool  // one of its pods changed since they were listed to be written
	Marks       Marks // of its pods; none but while the verdict is Unknown

	stage   Stage
	after   Stage          // what goes on after Watched, Waiting or Served; else New
	verdict health.Verdict // none in New, Ready in Calm alone
	word    word           // agreed but while the verdict is Unknown, unwritten only of one that was silent
	unseen  time.Time      // until when a taint that was written counts although the store does not show it

	conflicts int    // writes in a row that were too old
	tooOld    string // the version of the last, until the store shows another
}

// Marks is the marking of a node's pods as not Ready.
type Marks struct {
	Due  bool // some may be left
	Done map[types.UID]struct{}
}

// World is what a record's node depends on besides the record.
type World struct {
	TaintBased bool          // a failed node is tainted, else emptied
	Timeout    time.Duration // for how long one must have failed to be emptied
	Watched    time.Time     // when it will have been watched for a grace, before which it is not emptied
	Passes     bool          // verdicts fall in passes, which act strictly after the timeout
	Unseen     time.Duration // for how long a taint that was written counts although the store does not show it

	Now       time.Time
	Ahead     time.Duration // of what the clock shows is Now
	AllDown   bool          // every zone is fully disrupted
	Cancelled bool          // the zone policy has what is pending in its domain given up
	Hold      string        // why an operator holds the node, which goes before what the program says; empty when nobody does
	Turn      bool          // the node has its turn

	NoHarm bool // what only plans ask for: new taints are not permitted
}

// Verdict is the last one, the zero Verdict before the first.
func (r *Record) Verdict() health.Verdict { return r.verdict }

// Stage is how far its eviction is.
func (r *Record) Stage() Stage { return r.stage }

// Emptied says whether the node was emptied in this outage, also when it is watched since.
func (r *Record) Emptied() bool { return max(r.stage, r.after) == Served }

// Unclear says whether it has reported Ready since its verdict, or lost the condition that this speaks of: the next one decides, and
// nobody leaves before.
func (r *Record) Unclear(w World) bool {
	lost := r.says == "" && !r.verdict.Expired && r.verdict.Ready != ""
	return lost || r.Facts(w).Standing() == Reported
}

// Facts are what the node's standing follows from. A store lags behind the writes: a taint that was written is there for a while
// until the store has shown it.
func (r *Record) Facts(w World) Facts {
	return Facts{
		Judged: r.stage != New, Ready: r.verdict.Ready, Expired: r.verdict.Expired, Says: r.says, Beat: r.word == heard,
		AllDown: w.AllDown, Cancelled: w.Cancelled, Hold: cmp.Or(w.Hold, r.Hold), Settling: r.stage == Watched,
		Carries: r.Tainted || w.Now.Before(r.unseen), Turn: w.Turn,
	}
}

// Plan compares the node with what it should be. since is Input.Since.
func (r *Record) Plan(w World, object *v1.Node, since *metav1.Time) Plan {
	in := Input{
		Facts: r.Facts(w), Node: object, Now: w.Now, Ahead: w.Ahead, TaintBased: w.TaintBased, NoHarm: w.NoHarm, Since: since,
		Unwritten: r.word == unwritten, Unmarked: r.Marks.Due,
	}
	return in.Plan()
}

// Check returns what is wrong with the record, which is a fault of this package.
func (r *Record) Check() error {
	for wrong, kept := range map[string]bool{
		"a verdict in New":                  r.stage != New || r.verdict == health.Verdict{},
		"Ready, or Calm, and not both":      (r.stage == Calm) == (r.verdict.Ready == v1.ConditionTrue),
		"watched, or goes on, and not both": (r.stage == Watched) == (r.after >= Waiting) && (r.stage == Watched || r.after == New),
		"nothing to write":                  r.word != unwritten || r.verdict.Expired,
		"nothing to hear":                   r.word != heard || r.verdict.Ready == v1.ConditionUnknown,
		"no pods to mark":                   r.verdict.Ready == v1.ConditionUnknown || !r.Marks.Due && r.Marks.Done == nil,
		"watched, and being emptied":        r.after != Emptying,
		"tainted and emptied":               !r.Emptied() || !r.Tainted && r.unseen.IsZero(),
	} {
		if !kept {
			return errors.New(wrong + ": " + r.String())
		}
	}
	return nil
}

// String tells the stage and what belongs to it, then what is beside it.
func (r *Record) String() string {
	when := func(there bool, s string) string {
		if there {
			return s
		}
		return ""
	}
	stages := [...]string{"new", "calm", "watched", "waiting", "emptying", "served"}
	return stages[r.stage] + when(r.stage == Watched, " after "+stages[r.after]) +
		[...]string{"", ", unwritten", ", heard"}[r.word] + when(r.Marks.Due, ", to mark") + when(!r.unseen.IsZero(), ", unseen")
}
