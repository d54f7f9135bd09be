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

// Stage is how far the eviction of a node is. It leaves out what others know: package turns knows whether the node waits
// or has its turn, and the node's object whether it is tainted.
type Stage uint8

// The stages. Judge begins and ends an outage. Within it a node that is tainted stays Failed; one that is emptied goes
// from Failed through Emptying, from which it may come back, to Served. A failed node may become Early, and is then what it
// was before.
const (
	New      Stage = iota // no verdict has fallen
	Calm                  // it is Ready by its verdict
	Early                 // it failed before the clocks started or restarted, and is watched for one more grace period
	Failed                // it failed, and is acted on when it has its turn
	Emptying              // without taints: it failed, has its turn, and its pods are being evicted
	Served                // without taints: it failed and was emptied; pods that appear on it are evicted at once
)

// word is the difference between a verdict and the node's object.
type word uint8

const (
	agreed    word = iota // none
	unwritten             // the node is silent, and that is not yet written to its status
	heard                 // its verdict is Unknown, but a heartbeat was seen since: the next verdict decides
)

// Belongs says in which domain a node belongs, and whether it counts there.
type Belongs struct {
	Zone     zone.Key
	Excluded bool
}

// Record is what is remembered of one node. The zero Record is that of a node not yet looked at. Check verifies the
// invariants.
type Record struct {
	// As of the last look at its object: its domain and whether it counts there; why the program holds it; and whether it
	// carries our NoExecute taint, which is always false without taints.
	Belongs
	Hold    string
	Tainted bool
	says    v1.ConditionStatus // the Ready condition, written by its kubelet or by us

	PodsChanged bool  // one of its pods has changed since they were listed to be marked
	Marks       Marks // of its pods; empty unless the verdict is Unknown

	verdict health.Verdict // zero before the first
	early   bool           // only if it has failed
	left    left           // no more than untouched if it has not failed
	word    word           // agreed unless the verdict is Unknown; unwritten only if the node was silent
	begun   bool           // since it failed, a pod was evicted to empty the node; only if it has failed
	unseen  time.Time      // until when a taint that we wrote counts although the store does not show it

	announced announcement // as of the last look at its object

	conflicts int    // how many writes in a row met a conflict
	tooOld    string // the version that the last one was made from, until the store shows another
}

// left is how far a node that is emptied has been left by its pods in this outage.
type left uint8

const (
	untouched left = iota
	leaving        // it has its turn, and its pods are being evicted
	gone
)

// Marks is the marking of a node's pods as not Ready.
type Marks struct {
	Due  bool // some pods may still have to be marked
	Done map[types.UID]struct{}
}

// World is everything outside its record that a node depends on.
type World struct {
	TaintBased bool          // a failed node is tainted; otherwise it is emptied
	Timeout    time.Duration // how long a node must have failed before it is emptied
	Passes     bool          // verdicts are reached in passes, which act strictly after Timeout
	Unseen     time.Duration // how long a taint that we wrote counts although the store does not show it

	Now          time.Time
	Ahead        time.Duration // how far Now is ahead of the clock
	AllDown      bool          // every zone is fully disrupted
	Cancelled    bool          // the zone policy cancels pending evictions in the node's domain
	Hold         string        // why an operator holds the node, which overrides Record.Hold; empty if none does
	MaxAnnounced time.Duration // how long announced maintenance holds a node; 0 for never
	Turn         bool          // the node has its turn
	NoMarks      bool          // its domain has its pods marked later

	NoHarm bool // new taints are not permitted; only Plan reads it
}

// Verdict returns the last verdict, or the zero Verdict before the first.
func (r *Record) Verdict() health.Verdict { return r.verdict }

// Stage returns how far the node's eviction is.
func (r *Record) Stage() Stage {
	switch {
	case r.verdict.Node == "":
		return New
	case r.verdict.Ready == v1.ConditionTrue:
		return Calm
	case r.early:
		return Early
	}
	return Failed + Stage(r.left)
}

// failed says whether its last verdict is another one than Ready.
func (r *Record) failed() bool { return r.Stage() >= Early }

// Emptied says whether the node was emptied in this outage, even if it is Early since.
func (r *Record) Emptied() bool { return r.left == gone }

// Begun says whether, in this outage, the node was emptied or has lost a pod to that.
func (r *Record) Begun() bool { return r.begun || r.Emptied() }

// Unclear says whether the node has reported Ready since its verdict, or lost its Ready condition. Then the next verdict
// decides, and no pod leaves before.
func (f Facts) Unclear() bool {
	lost := f.Says == "" && !f.Expired && f.Ready != ""
	return lost || f.Standing() == Reported
}

// Facts returns what the node's standing follows from. Because the store lags behind our writes, a taint that we wrote
// counts for a while before the store shows it.
func (r *Record) Facts(w World) Facts {
	w.Hold = cmp.Or(w.Hold, r.Hold)
	announced := r.Announced(w)
	return Facts{
		World: w, Announced: announced, Excluded: r.Excluded || announced != "", Judged: r.verdict.Node != "", Ready: r.verdict.Ready, Expired: r.verdict.Expired, Says: r.says, Beat: r.word == heard,
		Settling: r.early, Carries: r.Tainted || w.Now.Before(r.unseen),
	}
}

// Plan compares the node with what it should be. since is Input.Since.
func (r *Record) Plan(f Facts, object *v1.Node, since *metav1.Time) Plan {
	in := Input{Facts: f, Node: object, Since: since, Unwritten: r.word == unwritten, Unmarked: r.Marks.Due}
	return in.Plan()
}

// Check returns an error if the record violates an invariant, which is a fault of this package.
func (r *Record) Check() error {
	for wrong, kept := range map[string]bool{
		"early or left, and not failed": r.failed() || !r.early && !r.begun && r.left == untouched,
		"nothing to write":              r.word != unwritten || r.verdict.Expired,
		"nothing to hear":               r.word != heard || r.verdict.Ready == v1.ConditionUnknown,
		"no pods to mark":               r.verdict.Ready == v1.ConditionUnknown || !r.Marks.Due && r.Marks.Done == nil,
		"early, and being emptied":      !r.early || r.left != leaving,
		"tainted and emptied":           !r.Emptied() || !r.Tainted && r.unseen.IsZero(),
	} {
		if !kept {
			return errors.New(wrong + ": " + r.String())
		}
	}
	return nil
}

// String describes the record: its stage, then what else is true of it.
func (r *Record) String() string {
	when := func(there bool, s string) string {
		if there {
			return s
		}
		return ""
	}
	stages := [...]string{"new", "calm", "early", "failed", "emptying", "served"}
	return stages[r.Stage()] + when(r.early, " after "+stages[Failed+Stage(r.left)]) +
		[...]string{"", ", unwritten", ", heard"}[r.word] + when(r.Marks.Due, ", to mark") + when(!r.unseen.IsZero(), ", unseen")
}
