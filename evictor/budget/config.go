package budget

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
)

// Config says what is counted and how much of it may be acted on. M is what the program knows about a member. The
// functions are called within Set, with no lock held; they must not change the member.
type Config[K comparable, M any] struct {
	// Dimensions return the group that a member is in, or false if it is in none of that dimension. There may be at most
	// 16, and none with an empty name.
	Dimensions map[string]func(M) (group string, ok bool)
	// Counts reports whether a member counts in totals and as bad, unavailable or healthy. If nil, all count.
	Counts func(M) bool
	// Bad reports whether a member is bad. If nil, none is.
	Bad func(M) bool
	// Actionable reports whether a member may be acted on at all. If nil, all may.
	Actionable func(M) bool
	// Weight returns how many a member counts as; a negative weight counts as 0. If nil, each counts as one.
	Weight func(M) int64
	// Bounds are asked in this order; a refusal names the first that refuses. There may be at most 64.
	Bounds []Bound
	// Clock is the real clock if nil.
	Clock clock.PassiveClock
}

// Quantity is what a Bound counts.
type Quantity uint8

// The quantities. The first three cover only members that count (Config.Counts), the others all members.
const (
	Bad         Quantity = iota + 1 // members that are bad
	Unavailable                     // members that are bad or acted on
	Healthy                         // members that are neither
	Acting                          // members that are acted on
	Recent                          // members on which an action began within Bound.Within, each counted once
)

var quantities = [...]string{"", "Bad", "Unavailable", "Healthy", "Acting", "Recent"}

// String returns the name of the constant, empty for 0.
func (q Quantity) String() string {
	if int(q) >= len(quantities) {
		return fmt.Sprintf("Quantity(%d)", uint8(q))
	}
	return quantities[q]
}

// Bound is one rule. It has either a Quantity with a Max, a Min or both, or a PerSecond.
type Bound struct {
	// Name is required and unique.
	Name string
	// Per is a dimension: the bound applies to each of its groups separately, and not to members in none of them. If
	// empty, it applies to all members together.
	Per string
	// Without is a dimension: the bound is asked only about members that are in none of its groups. It still counts all
	// members.
	Without string

	// Of is what is counted. Max is the upper limit, Min the lower one.
	Of       Quantity
	Max, Min Limit
	// Within is how far back Recent looks.
	Within time.Duration
	// Quiet, if greater than 0, makes the bound a breaker: once exceeded, it stays shut until its limit has been kept
	// for that long without a break. If Resume is set, that stricter limit must be kept meanwhile: a lower Max or a
	// higher Min. Quiet is for Bad, Unavailable and Healthy, which are compared as they are now, with either Max or
	// Min.
	Quiet  time.Duration
	Resume Limit
	// Latched keeps the bound shut, once exceeded, until Budget.Reset. It is for Bad, Unavailable and Healthy, which
	// are compared as they are now, and for Recent, which counts as exceeded when it refuses. It cannot be combined
	// with Quiet.
	Latched bool

	// PerSecond is how many actions, in weights, may begin in a second; the time for each is rounded up to whole nanoseconds.
	// Burst is how many may begin at once after a quiet time; 0 means 1.
	PerSecond float64
	Burst     int
}

// Limit is a number, or a share of a group's total. The zero Limit is not set.
type Limit struct {
	count   int64
	percent float64
	kind    limitKind
	ofBad   bool
}

type limitKind uint8

const (
	unset limitKind = iota
	count
	percentDown
	percentUp
)

// Count returns a limit that is a number.
func Count(n int64) Limit { return Limit{count: n, kind: count} }

// Percent returns a limit that is a share of the total, from 0 to 100, rounded down.
func Percent(p float64) Limit { return Limit{percent: p, kind: percentDown} }

// Up returns the same share, rounded up. A Count stays as it is.
func (l Limit) Up() Limit {
	if l.kind == percentDown {
		l.kind = percentUp
	}
	return l
}

// OfBad returns the same share, but of the bad members instead of the total. A Count stays as it is.
func (l Limit) OfBad() Limit {
	l.ofBad = l.kind == percentDown || l.kind == percentUp
	return l
}

// IsSet reports whether the limit is set.
func (l Limit) IsSet() bool { return l.kind != unset }

// Of returns the limit as a number, given the total that it is a share of. It is 0 if the limit is not set.
func (l Limit) Of(total int64) int64 {
	switch share := l.percent * float64(total) / 100; l.kind {
	case percentDown:
		return int64(math.Floor(share))
	case percentUp:
		return int64(math.Ceil(share))
	}
	return l.count
}

// in returns the limit in a group.
func (l Limit) in(s *sums) int64 {
	if l.ofBad {
		return l.Of(s.bad)
	}
	return l.Of(s.total)
}

// String returns the number, or the percentage with its base and rounding. It is empty if the limit is not set.
func (l Limit) String() string {
	of := ""
	if l.ofBad {
		of = " of the bad"
	}
	switch l.kind {
	case count:
		return fmt.Sprint(l.count)
	case percentDown:
		return fmt.Sprintf("%g%%%s rounded down", l.percent, of)
	case percentUp:
		return fmt.Sprintf("%g%%%s rounded up", l.percent, of)
	}
	return ""
}

func (l Limit) valid() bool {
	return l.count >= 0 && l.percent >= 0 && l.percent <= 100
}

const (
	maxDimensions = 16
	maxBounds     = 64
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
	}
	return errs.ToAggregate()
}

func (b *Bound) faults(path *field.Path) (errs field.ErrorList) {
	check := func(ok bool, name string, value any, why string) {
		if !ok {
			errs = append(errs, field.Invalid(path.Child(name), value, why))
		}
	}
	for name, l := range map[string]Limit{"max": b.Max, "min": b.Min, "resume": b.Resume} {
		check(l.valid(), name, l.String(), "a count must not be negative, a percentage must lie between 0 and 100")
		check(!l.ofBad || b.Of != Bad, name, l.String(), "the bad are not counted as a share of themselves")
	}
	if b.PerSecond != 0 || b.Of == 0 {
		rate := b.PerSecond > 0 && !math.IsInf(b.PerSecond, 0)
		check(rate, "perSecond", b.PerSecond, "must be a number greater than 0 where there is no of")
		check(b.Of == 0, "of", b.Of.String(), "must not be set beside perSecond")
		check(!b.Max.IsSet() && !b.Min.IsSet(), "max", b.Max.String(), "neither max nor min may be set beside perSecond")
		check(b.Within == 0 && b.Quiet == 0 && !b.Resume.IsSet(), "within", b.Within.String(), "neither within, quiet nor resume may be set beside perSecond")
		check(!b.Latched, "latched", b.Latched, "must not be set beside perSecond")
		check(b.Burst >= 0, "burst", b.Burst, "must not be negative")
		return errs
	}
	check(int(b.Of) < len(quantities), "of", b.Of.String(), "must be Bad, Unavailable, Healthy, Acting or Recent")
	check(b.Max.IsSet() || b.Min.IsSet(), "max", "", "max or min must be set")
	check(!b.Min.IsSet() || b.Of <= Healthy, "min", b.Min.String(), "goes with Bad, Unavailable and Healthy")
	check(b.Burst == 0, "burst", b.Burst, "must not be set without perSecond")
	check((b.Of == Recent) == (b.Within > 0), "within", b.Within.String(), "must be greater than 0 with Recent, and not be set else")
	check(b.Quiet >= 0, "quiet", b.Quiet.String(), "must not be negative")
	check(b.Quiet <= 0 || b.Of <= Healthy, "quiet", b.Quiet.String(), "goes with Bad, Unavailable and Healthy")
	check(b.Quiet <= 0 || b.Max.IsSet() != b.Min.IsSet(), "quiet", b.Quiet.String(), "goes with one of max and min")
	check(!b.Latched || b.Quiet == 0 && b.Of != Acting, "latched", b.Latched, "goes with Bad, Unavailable, Healthy and Recent, and not beside quiet")
	check(b.Quiet > 0 || !b.Resume.IsSet(), "resume", b.Resume.String(), "must not be set without quiet")
	return errs
}

// burst returns how many tokens the bucket holds.
func (b *Bound) burst() int64 { return int64(max(b.Burst, 1)) }

// breaks reports whether the bound is a breaker that looks at groups, so not one on Recent.
func (b *Bound) breaks() bool { return b.Quiet > 0 || b.Latched && b.Of != Recent }

// kept reports whether the bound's count is within the limits, for a group with these sums.
func (b *Bound) kept(used int64, s *sums) bool {
	return (!b.Max.IsSet() || used <= b.Max.in(s)) && (!b.Min.IsSet() || used >= b.Min.in(s))
}

// calm reports whether it is within the limits under which a breaker opens again.
func (b *Bound) calm(used int64, s *sums) bool {
	switch {
	case b.Latched || !b.kept(used, s):
		return false
	case !b.Resume.IsSet():
		return true
	case b.Max.IsSet():
		return used <= b.Resume.in(s)
	}
	return used >= b.Resume.in(s)
}
