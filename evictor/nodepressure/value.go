package nodepressure

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Value is an amount: a quantity or, if that is zero, a share of the capacity. The zero Value is 0.
type Value struct {
	Quantity resource.Quantity
	// Percentage is the share as a fraction: 0.1 is 10 %. It is a float32 as upstream's is, so that rounding gives the
	// same amounts.
	Percentage float32
}

// IsZero reports whether the value is 0 at any capacity.
func (v Value) IsZero() bool { return v.Percentage == 0 && v.Quantity.IsZero() }

// String returns the quantity, or the share with a percent sign.
func (v Value) String() string {
	if v.Percentage != 0 {
		return strconv.FormatFloat(float64(v.Percentage)*100, 'g', 6, 64) + "%"
	}
	return v.Quantity.String()
}

// At returns the amount for a capacity. A quantity does not depend on it; a share is rounded down.
func (v Value) At(capacity int64) resource.Quantity {
	if v.Percentage == 0 {
		return v.Quantity.DeepCopy()
	}
	return *resource.NewQuantity(share(capacity, v.Percentage), resource.BinarySI)
}

// share multiplies as upstream does. It saturates if the product does not fit an int64.
func share(capacity int64, percentage float32) int64 {
	product := float64(capacity) * float64(percentage)
	if product >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(product)
}

// whole returns a quantity in whole units, rounded up. It saturates if that does not fit an int64.
func whole(q *resource.Quantity) int64 {
	if q.CmpInt64(math.MaxInt64) >= 0 {
		return math.MaxInt64
	}
	return q.Value()
}

// add returns a+b. It saturates if the sum does not fit an int64.
func add(a, b int64) int64 {
	switch sum := a + b; {
	case b >= 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	default:
		return sum
	}
}

var (
	errPercentage = errors.New("must be a number followed by one percent sign, such as 12.5%")
	errQuantity   = errors.New("must be a quantity such as 100Mi, or a percentage such as 10%")
	errDuration   = errors.New("must be a duration such as 1m30s")
	errNegative   = errors.New("must not be negative")
)

// parsePercentage reads "12.5%" as 0.125. Unlike upstream it reads only decimal numbers, and refuses those that a float32
// turns into 0% or 100%, which mean something else.
func parsePercentage(text string) (float32, error) {
	number := strings.TrimSuffix(text, "%")
	exact, ok := new(big.Rat).SetString(number)
	if !ok || strings.Trim(number, "+-.0123456789") != "" {
		return 0, errPercentage
	}
	percent, _ := exact.Float32()
	share := percent / 100
	if (share == 0 || share == 1) && exact.Cmp(new(big.Rat).SetInt64(int64(share*100))) != 0 {
		return 0, fmt.Errorf("is too close to %v%%, as which it would count: write %v%% or a number with fewer digits", share*100, share*100)
	}
	return share, nil
}

// parseValue reads a quantity or a percentage. Everything that can be short comes in whole numbers: a value in thousandths
// is a slip of the pen.
func parseValue(text string) (v Value, isShare bool, err error) {
	if strings.HasSuffix(text, "%") {
		v.Percentage, err = parsePercentage(text)
		return v, true, err
	}
	if v.Quantity, err = resource.ParseQuantity(text); err != nil {
		return Value{}, false, errQuantity
	}
	if number := strings.TrimRight(text, "mun"); number != text {
		return Value{}, false, fmt.Errorf("is counted in fractions of one: m is a thousandth; write %sMi or %sM for mebibytes or megabytes", number, number)
	}
	return v, false, nil
}

// parseThreshold reads the value of a threshold. 0% and 100%, however written, turn it off.
func parseThreshold(text string) (v Value, off bool, err error) {
	v, isShare, err := parseValue(text)
	switch {
	case err != nil:
		return Value{}, false, err
	case isShare && (v.Percentage < 0 || v.Percentage > 1):
		return Value{}, false, errors.New("must be between 0% and 100%")
	case isShare && (v.Percentage == 0 || v.Percentage == 1):
		return Value{}, true, nil
	case !isShare && v.Quantity.Sign() <= 0:
		return Value{}, false, errors.New("must be greater than 0; 0% or 100% turns the threshold off")
	}
	return v, false, nil
}

// parseMinimumReclaim reads a minimum reclaim. More than 100% could never be reclaimed.
func parseMinimumReclaim(text string) (Value, error) {
	v, isShare, err := parseValue(text)
	switch {
	case err != nil:
		return Value{}, err
	case isShare && (v.Percentage <= 0 || v.Percentage > 1):
		return Value{}, errors.New("must be more than 0% and at most 100%")
	case !isShare && v.Quantity.Sign() < 0:
		return Value{}, errNegative
	}
	return v, nil
}
