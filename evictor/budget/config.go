package budget

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
)

// Config says what to count and how much of it may be acted on. M is what the program knows about a member. Set calls
// the functions with no lock of its own, but package guard calls Set with an evictor's lock held: they must not call the evictor,
// wait for who does, or change the member.
type Config[K comparable, M any] struct {
	// Dimensions return the group that a member is in, or false if it is in none of that dimension. There may be at most
	// 16, and none with an empty name.
	Dimensions map[string]func(M) (group string, ok bool)
	// Counts reports whether a member counts in totals and as bad, unavailable or healthy. If nil, all count.
	Counts func(M) bool
	// Bad reports whether a member is bad. If nil, none is, and no Bound may be Of Bad.
	Bad func(M) bool
	// Actionable reports whether a member may be acted on at all. If nil, all may.
	Actionable func(M) bool
	// Weight returns how many a member counts as. A negative weight counts as 0, and one above 2^40 as 2^40, so that sums
	// over millions of members do not overflow. If nil, each counts as one.
	Weight func(M) int64
	// Bounds are asked in this order; a refusal names the first that refuses. There may be at most 64, and
	// none only with Actionable.
	Bounds []Bound
	// Clock is the real clock if nil.
	Clock clock.PassiveClock
}

// Quantity is what a Bound counts: [Bad], [Unavailable], [Healthy], [Acting], [Recent] or [Unproven].
type Quantity uint8

// The quantities. The first three cover only members that count (Config.Counts), the others all members.
const (
	Bad         Quantity = iota + 1 // members that are bad
	Unavailable                     // members that are bad or acted on
	Healthy                         // members that are neither
	Acting                          // members that are acted on
	Recent                          // members on which an action began within Bound.Within, each counted once
	Unproven                        // members on which an action began whose outcome is not known, each counted as one
)

var quantities = [...]string{"", "Bad", "Unavailable", "Healthy", "Acting", "Recent", "Unproven"}

// String returns the name of the constant, empty for 0.
func (q Quantity) String() string {
	if int(q) >= len(quantities) {
		return fmt.Sprintf("Quantity(%d)", uint8(q))
	}
	return quantities[q]
}

// Bound is one rule: a Quantity with a Max, a Min or both.
type Bound struct {
	// Name is required and unique.
	Name string
	// Per is a dimension: the bound applies to each of its groups separately, and not to members outside all of them. If
	// empty, the bound applies to all members together.
	Per string
	// Without is a dimension: the bound counts the members in its groups, but never refuses one. If these are the failed
	// nodes, for example, they stop a program that replaces healthy nodes, but not the evictor.
	Without string

	// Of is what is counted. Max is the upper limit, Min the lower one.
	Of       Quantity
	Max, Min Limit
	// Within is how far back Recent looks. With Unproven it is how long an action waits for a Judge.
	Within time.Duration
	// Quiet, if greater than 0, makes the bound a breaker: once exceeded, it refuses until the group has stayed within the
	// limit for that long without interruption. It is for Bad, Unavailable and Healthy, with either Max or Min; what counts is the
	// present, including actions that have begun, but not reservations.
	//
	// With Unproven it is required: a trial forgets its proofs once no action has been unproven for that long, and its
	// failures when that long has passed after the end of their cooldown.
	Quiet time.Duration

	// The remaining fields are for Unproven. Unjudged, which is required, is the outcome of an action that nobody has
	// judged Within its time.
	Unjudged Outcome
	// Cooldown is how long no action may begin after one has failed. It doubles with each further failure, up to
	// MaxCooldown; if that is less than Cooldown, it does not grow. 0 means no cooldown.
	Cooldown, MaxCooldown time.Duration
}

// Outcome is what became of an action: [Proved], [Failed] or [Inconclusive]. See [Budget.Judge].
type Outcome uint8

// The outcomes.
const (
	Proved       Outcome = iota + 1 // it helped
	Failed                          // it did not help, or there was no reason for it
	Inconclusive                    // neither can be told, or it was undone before it did anything
)

const (
	maxDimensions = 16
	maxBounds     = 64
	maxWeight     = 1 << 40
)

// Validate reports every fault at once, or nil.
func (c Config[K, M]) Validate() error {
	var errs field.ErrorList
	dimensions := field.NewPath("dimensions")
	for _, name := range slices.Sorted(maps.Keys(c.Dimensions)) {
		if name == "" {
			errs = append(errs, field.Required(dimensions.Key(name), "a dimension needs a name"))
		}
		if c.Dimensions[name] == nil {
			errs = append(errs, field.Required(dimensions.Key(name), ""))
		}
	}
	if n := len(c.Dimensions); n > maxDimensions {
		errs = append(errs, field.TooMany(dimensions, n, maxDimensions))
	}
	if n := len(c.Bounds); n > maxBounds {
		errs = append(errs, field.TooMany(field.NewPath("bounds"), n, maxBounds))
	}
	if len(c.Bounds) == 0 && c.Actionable == nil {
		errs = append(errs, field.Required(field.NewPath("bounds"), "without one, and without Config.Actionable, everything is allowed"))
	}
	errs = append(errs, c.boundFaults()...)
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...).ToAggregate()
}

func (c Config[K, M]) boundFaults() (errs field.ErrorList) {
	names := make(map[string]bool, len(c.Bounds))
	for i := range c.Bounds {
		b, path := &c.Bounds[i], field.NewPath("bounds").Index(i)
		switch {
		case b.Name == "":
			errs = append(errs, field.Required(path.Child("name"), ""))
		case names[b.Name]:
			errs = append(errs, field.Duplicate(path.Child("name"), b.Name))
		}
		names[b.Name] = true
		if _, ok := c.Dimensions[b.Per]; b.Per != "" && !ok {
			errs = append(errs, field.NotFound(path.Child("per"), b.Per))
		}
		if _, ok := c.Dimensions[b.Without]; b.Without != "" && !ok {
			errs = append(errs, field.NotFound(path.Child("without"), b.Without))
		}
		errs = append(errs, b.faults(path)...)
		if b.Of == Bad && c.Bad == nil {
			errs = append(errs, field.Invalid(path.Child("of"), b.Of.String(), "counts nobody unless Config.Bad says who is bad"))
		}
	}
	return errs
}

func (b *Bound) faults(path *field.Path) (errs field.ErrorList) {
	check := func(ok bool, name string, value any, why string) {
		if !ok {
			errs = append(errs, field.Invalid(path.Child(name), value, why))
		}
	}
	const limits = "a count must not be negative, a percentage must lie between 0 and 100"
	check(b.Max.valid(), "max", b.Max.String(), limits)
	check(b.Min.valid(), "min", b.Min.String(), limits)
	trial := b.Of == Unproven
	check(b.Of != 0 && int(b.Of) < len(quantities), "of", b.Of.String(), "must be Bad, Unavailable, Healthy, Acting, Recent or Unproven")
	check(b.Max.isSet() || b.Min.isSet(), "max", "", "max or min must be set")
	check(!b.Min.isSet() || b.Of <= Healthy, "min", b.Min.String(), "goes with Bad, Unavailable and Healthy")
	check((b.Of == Recent || trial) == (b.Within > 0), "within", b.Within.String(), "must be greater than 0 with Recent and Unproven, and not be set else")
	check(b.Quiet >= 0, "quiet", b.Quiet.String(), "must not be negative")
	check(b.Quiet != 0 || !trial, "quiet", b.Quiet.String(), "must be greater than 0 with Unproven")
	check(b.Quiet <= 0 || b.Of <= Healthy || trial, "quiet", b.Quiet.String(), "goes with Bad, Unavailable, Healthy and Unproven")
	check(b.Quiet <= 0 || b.Max.isSet() != b.Min.isSet() || trial, "quiet", b.Quiet.String(), "goes with one of max and min")
	check(trial == (b.Unjudged != 0) && b.Unjudged <= Inconclusive, "unjudged", int(b.Unjudged), "must be Proved, Failed or Inconclusive with Unproven, and not be set else")
	check(b.Cooldown >= 0 && (b.Cooldown == 0 || trial), "cooldown", b.Cooldown.String(), "must not be negative, and goes with Unproven")
	check(b.MaxCooldown == 0 || b.MaxCooldown > 0 && b.Cooldown > 0, "maxCooldown", b.MaxCooldown.String(), "must not be negative, and goes with cooldown")
	return errs
}

// breaks reports whether the bound is a breaker.
func (b *Bound) breaks() bool { return b.Quiet > 0 && b.Of != Unproven }

// kept reports whether the bound's count is within the limits, for a group of this total.
func (b *Bound) kept(used, total int64) bool {
	return (!b.Max.isSet() || used <= b.Max.Of(total)) && (!b.Min.isSet() || used >= b.Min.Of(total))
}
