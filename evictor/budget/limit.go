package budget

import (
	"fmt"
	"math/bits"
	"strconv"
)

// Limit is a number, made by [Count], or a share of a group's total, made by [Percent], which [Limit.Up] rounds up. Of a
// share and a number, [Limit.AtLeast] takes the larger. The zero Limit is not set.
type Limit struct {
	count   int64
	least   int64
	percent float64
	share   decimal // percent, exactly as it is written
	kind    limitKind
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

// Percent returns a limit that is a share of the total, from 0 to 100, rounded down. The share is the decimal number that
// p prints as: 2.2 is exactly 22 of 1000.
func Percent(p float64) Limit {
	l := Limit{percent: p, kind: percentDown}
	if l.valid() {
		l.share = decimalOf(p)
	}
	return l
}

// Up returns the same share, rounded up. A Count stays as it is.
func (l Limit) Up() Limit {
	if l.kind == percentDown {
		l.kind = percentUp
	}
	return l
}

// AtLeast returns the limit or n, whichever is larger for the total: Percent(45).Up().AtLeast(3) is 3 of up to 6, and more
// of more. n must not be negative. A second call replaces what the first said. A limit that is not set stays so.
func (l Limit) AtLeast(n int64) Limit {
	l.least = n
	return l
}

// isSet reports whether the limit is set.
func (l Limit) isSet() bool { return l.kind != unset }

// Of returns the limit as a number, for this total; a negative total counts as 0. It is 0 if the limit is not set.
func (l Limit) Of(total int64) int64 {
	switch l.kind {
	case unset:
		return 0
	case count:
		return max(l.count, l.least)
	}
	whole, rest := l.share.of(uint64(max(total, 0)))
	if rest && l.kind == percentUp {
		whole++
	}
	return max(int64(whole), l.least)
}

// String returns the number, or the percentage with its rounding. It is empty if the limit is not set.
func (l Limit) String() (text string) {
	switch l.kind {
	case unset:
		return ""
	case count:
		text = fmt.Sprint(l.count)
	case percentDown:
		text = fmt.Sprintf("%g%% rounded down", l.percent)
	case percentUp:
		text = fmt.Sprintf("%g%% rounded up", l.percent)
	}
	if l.least != 0 {
		text += fmt.Sprintf(", at least %d", l.least)
	}
	return text
}

func (l Limit) valid() bool {
	return l.count >= 0 && l.least >= 0 && l.percent >= 0 && l.percent <= 100
}

// decimal is digits / 10^places, at most 1.
type decimal struct {
	digits uint64 // at most 17 decimal digits, which tell every float64 from the others
	by     uint64 // 10^places, as far as that is a uint64
	more   int    // the places that are left
}

// decimalOf returns the share that is p percent, p from 0 to 100.
func decimalOf(p float64) decimal {
	d, places := decimal{by: 1}, 2
	text := strconv.AppendFloat(nil, p, 'e', -1, 64) // d.ddde±dd
	for i, c := range text {
		if c == 'e' {
			exponent, _ := strconv.Atoi(string(text[i+1:])) // at most 2
			places -= exponent
			break
		}
		if c == '.' {
			continue
		}
		if d.digits = d.digits*10 + uint64(c-'0'); i > 0 {
			places++
		}
	}
	d.by, d.more = powerOfTen(places)
	return d
}

// powerOfTen returns the largest power of ten that is a uint64 and at most 10^places, and how many places are left.
func powerOfTen(places int) (power uint64, left int) {
	power = 1
	for left = places; left > 0 && places-left < maxPlaces; left-- {
		power *= 10
	}
	return power, left
}

// maxPlaces: 10^19 is the largest power of ten that is a uint64.
const maxPlaces = 19

// of returns that share of a total, rounded down, and whether there is a rest.
func (d decimal) of(total uint64) (whole uint64, rest bool) {
	high, low := bits.Mul64(d.digits, total)
	for by, more := d.by, d.more; high|low > 0; by, more = powerOfTen(more) {
		var left uint64
		left, high = high%by, high/by
		low, left = bits.Div64(left, low, by)
		if rest = rest || left > 0; more == 0 {
			break
		}
	}
	return low, rest
}
