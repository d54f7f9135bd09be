// Package lasting says how long conditions have lasted, for the comparisons with repair controllers.
package lasting

import (
	"fmt"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// Rule asks whether a condition has had a status for a time. Two rules with the same Type and Status and different times
// are two steps: the first may warn and the second repair.
type Rule struct {
	Type v1.NodeConditionType
	// Status is True, False or Unknown. A missing condition is none of these; it is not Unknown.
	Status v1.ConditionStatus
	// For is how long the status must last. It must be positive; use a nanosecond for "at once".
	For time.Duration
}

// DurationsConfig configures Durations.
type DurationsConfig struct {
	// Rules apply to every key: at least one, and none twice.
	Rules []Rule
	// Clock is the real clock if nil.
	Clock clock.PassiveClock
}

// Validate reports every fault at once.
func (c DurationsConfig) Validate() error {
	var errs field.ErrorList
	if len(c.Rules) == 0 {
		errs = append(errs, field.Required(field.NewPath("rules"), "without a rule nothing is watched"))
	}
	for i, r := range c.Rules {
		path := field.NewPath("rules").Index(i)
		if r.Type == "" {
			errs = append(errs, field.Required(path.Child("type"), ""))
		}
		if all := []string{string(v1.ConditionTrue), string(v1.ConditionFalse), string(v1.ConditionUnknown)}; !slices.Contains(all, string(r.Status)) {
			errs = append(errs, field.NotSupported(path.Child("status"), string(r.Status), all))
		}
		if r.For <= 0 {
			errs = append(errs, field.Invalid(path.Child("for"), r.For.String(), "must be greater than 0; a nanosecond is at once"))
		}
		if slices.Index(c.Rules, r) < i {
			errs = append(errs, field.Duplicate(path, r.Type))
		}
	}
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...).ToAggregate()
}

// Durations says how long the conditions of a key have had their status, and how much longer each rule takes to come
// true. It is for reconcilers: they are called for one key, [Durations.Observe] it, act, and requeue it after the
// smallest Left; [Durations.Forget] is for a key that is gone.
//
// The last observation holds until the next. Durations believes every object that it is shown, even an old one. It cannot tell two objects with the same key apart: put the UID into the
// key, or call Forget.
//
// All methods are safe for concurrent use. Memory is bounded by the keys that are not forgotten. A key that cannot be
// hashed, or does not equal itself (NaN), panics and changes nothing.
type Durations[K comparable] struct {
	rules []Rule
	guard steady.Guard // guards what follows
	known due.Map[K, observed]
}

// observed is what is known about a key.
type observed struct {
	seen int64                         // when it was last observed
	held map[v1.NodeConditionType]held // for each condition that a rule asks for
}

// held is the state of a condition.
type held struct {
	status v1.ConditionStatus // empty if it is missing
	since  int64
	claim  int64 // the transition time that was last claimed, noStamp if none was
}

// NewDurations returns an empty tracker, or an error with all faults of the configuration.
func NewDurations[K comparable](config DurationsConfig) (*Durations[K], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("lasting: %w", err)
	}
	d := &Durations[K]{rules: slices.Clone(config.Rules)}
	if d.guard.Clock = config.Clock; config.Clock == nil {
		d.guard.Clock = clock.RealClock{}
	}
	return d, nil
}

// noStamp stands for no transition time.
const noStamp = math.MinInt64

// Lasting is a rule whose status a key has, whether or not for long enough.
type Lasting struct {
	Rule Rule
	// Since is when the status began, as the clock shows it now.
	Since time.Time
	// Left is how much longer the status must last; 0 if the rule has come true.
	Left time.Duration
}

// Observe notes the conditions that a key has now, and returns the rules whose status they have, in the order of
// DurationsConfig.Rules: none for a healthy key. Pass all conditions: a missing one no longer has a status. Of several
// with the same type, the first counts.
//
// A status has lasted since the LastTransitionTime that comes with it. That is a claim from another machine: it becomes
// an age once, when it is first seen, and zero or a time in the future counts as now. A status has changed between two
// observations if it differs, or if it comes with another transition time, earlier or later. A zero transition time
// never counts as a change; any other is compared with the last one that was not zero, and counts as a change if there
// was none. A change happened after the previous observation, whatever the claim, so a wrong clock cannot make it older
// than that. An unchanged status keeps its known start.
//
// Observe reads only Type, Status and LastTransitionTime, so you can pass the conditions of other objects than nodes in
// the same form.
func (d *Durations[K]) Observe(key K, conditions []v1.NodeCondition) (lasting []Lasting) {
	now := d.guard.Read()
	defer d.guard.Unlock()
	o := d.known.Get(key)
	first := o == nil
	if first {
		if key != key { //nolint:gocritic // NaN
			panic(fmt.Sprintf("lasting: the key %v does not equal itself, so it could never be forgotten", key)) //nolint:forbidigo // as for a key that cannot be hashed
		}
		o = d.known.Add(key)
		o.held = make(map[v1.NodeConditionType]held)
	}
	for _, r := range d.rules {
		h := o.held[r.Type]
		status, claim, stamp := shown(conditions, r.Type)
		if first || status != h.status || stamp != h.claim && stamp != noStamp {
			since := now
			if !claim.IsZero() {
				since = min(since, d.guard.Time.Of(claim))
			}
			h = held{status, since, stamp}
			if !first {
				h.since = max(h.since, o.seen)
			}
			o.held[r.Type] = h
		}
		if h.status == r.Status {
			left := max(0, time.Duration(steady.Sub(steady.Add(h.since, r.For), now)))
			lasting = append(lasting, Lasting{r, d.guard.Time.Instant(h.since), left})
		}
	}
	o.seen = now
	return lasting
}

// shown returns the status of a condition in an object, and the transition time that the object claims.
func shown(conditions []v1.NodeCondition, kind v1.NodeConditionType) (status v1.ConditionStatus, claim time.Time, stamp int64) {
	for i := range conditions {
		if c := &conditions[i]; c.Type == kind {
			if c.LastTransitionTime.IsZero() {
				return c.Status, time.Time{}, noStamp
			}
			return c.Status, c.LastTransitionTime.Time, c.LastTransitionTime.UnixNano()
		}
	}
	return "", time.Time{}, noStamp
}

// Forget drops the key and reports whether it was known.
func (d *Durations[K]) Forget(key K) bool {
	d.guard.Lock()
	defer d.guard.Unlock()
	o := d.known.Get(key)
	if o != nil {
		d.known.Delete(key, o)
	}
	return o != nil
}

// Len returns the number of keys. O(1).
func (d *Durations[K]) Len() int {
	d.guard.Lock()
	defer d.guard.Unlock()
	return d.known.Len()
}
