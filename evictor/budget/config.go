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

// Config says what is counted and how much of it may be acted on. M is what the program knows of a member. Its
// functions are called within Set, with nothing locked; they must not change the member.
type Config[K comparable, M any] struct {
	// Dimensions name the group that a member is in, or say false when it is in none of that dimension. There are
	// at most 16, none of which is named "".
	Dimensions map[string]func(M) (group string, ok bool)
	// Counts says whether a member counts in totals and among the bad, unavailable and healthy. Nil means that all do.
	Counts func(M) bool
	// Bad says whether a member is bad. Nil means that none is.
	Bad func(M) bool
	// Actionable says whether a member may be acted on at all. Nil means that all may.
	Actionable func(M) bool
	// Weight is as how many a member counts. Nil means one; less than 0 counts as 0.
	Weight func(M) int64
	// Bounds are asked in their order: a refusal names the first that says no. There are at most 64.
	Bounds []Bound
	// Clock is the real clock when nil.
	Clock clock.PassiveClock
}

// Quantity is what a Bound counts.
type Quantity uint8

// The quantities. The first three are of members that count, the others of all.
const (
	Bad         Quantity = iota + 1 // are bad
	Unavailable                     // are bad or acted on
	Healthy                         // are neither
	Acting                          // are acted on
	Recent                          // were begun to be acted on within Bound.Within, each once
)

var quantities = [...]string{"", "Bad", "Unavailable", "Healthy", "Acting", "Recent"}

// String is the name of the constant, empty for 0.
func (q Quantity) String() string {
	if int(q) >= len(quantities) {
		return fmt.Sprintf("Quantity(%d)", uint8(q))
	}
	return quantities[q]
}

// Bound is one rule. It has either a Quantity with a Max, a Min or both, or a PerSecond.
type Bound struct {
	// Name tells it apart from the others.
	Name string
	// Per is the dimension for each group of which it holds; empty means for all members together. It is not asked
	// about members that are in no group of the dimension.
	Per string
	// Without names a dimension: the bound is only asked about members that are in no group of that one. It counts all
	// members all the same.
	Without string

	// Of is what is counted; Max is the most of it that there may be, Min the least.
	Of       Quantity
	Max, Min Limit
	// Within is how far back Recent looks.
	Within time.Duration
	// Quiet, when greater than 0, keeps the bound shut once it is exceeded, until it has been kept for so long
	// without a break. Resume, if it is set, is what must be kept meanwhile: a lower Max or a higher Min. It goes
	// with Bad, Unavailable and Healthy, which are looked at as they are, and with one of Max and Min.
	Quiet  time.Duration
	Resume Limit

	// PerSecond is how many actions may be begun in a second; Burst is how many at once after a pause, 1 when 0.
	PerSecond float64
	Burst     int
}

// Limit is a number or a share of a group's total. The zero Limit is not set.
type Limit struct {
	count   int64
	percent float64
	kind    limitKind
}

type limitKind uint8

const (
	unset limitKind = iota
	count
	percentDown
	percentUp
)

// Count is a limit that is a number.
func Count(n int64) Limit { return Limit{count: n, kind: count} }

// Percent is a limit that is a share of the total, rounded down.
func Percent(p float64) Limit { return Limit{percent: p, kind: percentDown} }

// Up is the same share, rounded up. Of a Count it is that count.
func (l Limit) Up() Limit {
	if l.kind == percentDown {
		l.kind = percentUp
	}
	return l
}

// IsSet says whether it is a limit at all.
func (l Limit) IsSet() bool { return l.kind != unset }

// Of is the limit where the total is that many; 0 when it is not set.
func (l Limit) Of(total int64) int64 {
	switch share := l.percent * float64(total) / 100; l.kind {
	case percentDown:
		return int64(math.Floor(share))
	case percentUp:
		return int64(math.Ceil(share))
	}
	return l.count
}

// String is the number, or the percentage and how it is rounded; empty when it is not set.
func (l Limit) String() string {
	switch l.kind {
	case count:
		return fmt.Sprint(l.count)
	case percentDown:
		return fmt.Sprintf("%g%% rounded down", l.percent)
	case percentUp:
		return fmt.Sprintf("%g%% rounded up", l.percent)
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
	}
	if b.PerSecond != 0 || b.Of == 0 {
		rate := b.PerSecond > 0 && !math.IsInf(b.PerSecond, 0)
		check(rate, "perSecond", b.PerSecond, "must be a number greater than 0 where there is no of")
		check(b.Of == 0, "of", b.Of.String(), "must not be set beside perSecond")
		check(!b.Max.IsSet() && !b.Min.IsSet(), "max", b.Max.String(), "neither max nor min may be set beside perSecond")
		check(b.Within == 0 && b.Quiet == 0 && !b.Resume.IsSet(), "within", b.Within.String(), "neither within, quiet nor resume may be set beside perSecond")
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
	check(b.Quiet > 0 || !b.Resume.IsSet(), "resume", b.Resume.String(), "must not be set without quiet")
	return errs
}

// burst is how many tokens the bucket holds.
func (b *Bound) burst() float64 { return float64(max(b.Burst, 1)) }

// kept says whether what is counted lies within the limits, of a group with that total.
func (b *Bound) kept(used, total int64) bool {
	return (!b.Max.IsSet() || used <= b.Max.Of(total)) && (!b.Min.IsSet() || used >= b.Min.Of(total))
}

// calm says whether it lies within those that a breaker needs to open again.
func (b *Bound) calm(used, total int64) bool {
	switch {
	case !b.kept(used, total):
		return false
	case !b.Resume.IsSet():
		return true
	case b.Max.IsSet():
		return used <= b.Resume.Of(total)
	}
	return used >= b.Resume.Of(total)
}
