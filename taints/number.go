package taints

import v1 "k8s.io/api/core/v1"

// compares reports whether the taint's value is less (Lt) or greater (Gt) than the toleration's.
func compares(toleration *v1.Toleration, taint *v1.Taint) bool {
	bound, ok := number(toleration.Value)
	if !ok {
		return false
	}
	value, ok := number(taint.Value)
	if !ok {
		return false
	}
	if toleration.Operator == operatorLt {
		return value < bound
	}
	return value > bound
}

// number parses an int64 as k8s.io/api does: decimal digits after an optional minus sign; no plus sign, no leading zeros,
// no -0. strconv is laxer, and allocates an error for anything that is not a number.
func number(s string) (n int64, ok bool) {
	if s == "0" {
		return 0, true
	}
	negative := len(s) > 0 && s[0] == '-'
	digits := s
	if negative {
		digits = s[1:]
	}
	if len(digits) == 0 || len(digits) > len("9223372036854775808") || digits[0] == '0' {
		return 0, false
	}
	var magnitude uint64 // 19 digits fit
	for i := 0; i < len(digits); i++ {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
		magnitude = 10*magnitude + uint64(digits[i]-'0')
	}
	switch {
	case negative && magnitude <= 1<<63:
		return -int64(magnitude), true // right for 1<<63 too: it wraps to the least int64, which is its own negative
	case !negative && magnitude < 1<<63:
		return int64(magnitude), true
	}
	return 0, false
}
