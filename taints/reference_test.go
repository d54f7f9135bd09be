package taints

import (
	"math/big"
	"regexp"
	"time"

	v1 "k8s.io/api/core/v1"
)

// naiveTolerates states the rules one by one, without regard to cost.
func naiveTolerates(toleration v1.Toleration, taint v1.Taint, numeric bool) bool {
	effect := toleration.Effect == "" || toleration.Effect == taint.Effect
	key := toleration.Key == "" || toleration.Key == taint.Key
	operator := map[v1.TolerationOperator]func() bool{
		"Exists": func() bool { return true },
		"Equal":  func() bool { return toleration.Value == taint.Value },
		"":       func() bool { return toleration.Value == taint.Value },
		"Lt":     func() bool { return numeric && naiveCompare(taint.Value, toleration.Value) == -1 },
		"Gt":     func() bool { return numeric && naiveCompare(taint.Value, toleration.Value) == 1 },
	}[toleration.Operator]
	return effect && key && operator != nil && operator()
}

var decimal = regexp.MustCompile(`\A(0|-?[1-9][0-9]*)\z`)

// naiveCompare also returns 0 if one of them is not an int64.
func naiveCompare(a, b string) int {
	if !decimal.MatchString(a) || !decimal.MatchString(b) {
		return 0
	}
	x, _ := new(big.Int).SetString(a, 10)
	y, _ := new(big.Int).SetString(b, 10)
	if !x.IsInt64() || !y.IsInt64() {
		return 0
	}
	return x.Cmp(y)
}

// naiveStay is upstream's GetMatchingTolerations and getMinTolerationTime, written from their description. The time is
// in seconds; 0 means at once, and nil for ever.
func naiveStay(taints []v1.Taint, tolerations []v1.Toleration, numeric bool) (untolerated *v1.Taint, least *big.Int) {
	var used []v1.Toleration
	for i, taint := range taints {
		matched := false
		for _, toleration := range tolerations {
			if naiveTolerates(toleration, taint, numeric) {
				used = append(used, toleration)
				matched = true
				break
			}
		}
		if !matched {
			return &taints[i], big.NewInt(0)
		}
	}
	for _, toleration := range used {
		if toleration.TolerationSeconds == nil {
			continue
		}
		s := big.NewInt(*toleration.TolerationSeconds)
		if s.Sign() < 0 {
			s = big.NewInt(0)
		}
		if least == nil || s.Cmp(least) < 0 {
			least = s
		}
	}
	return nil, least
}

func withEffect(taints []v1.Taint, effects ...v1.TaintEffect) (some []v1.Taint) {
	for _, t := range taints {
		for _, e := range effects {
			if t.Effect == e {
				some = append(some, t)
			}
		}
	}
	return some
}

// saturated returns the seconds as a duration, the longest one if they do not fit.
func saturated(s *big.Int) time.Duration {
	d := new(big.Int).Mul(s, big.NewInt(int64(time.Second)))
	if !d.IsInt64() {
		return 1<<63 - 1
	}
	return time.Duration(d.Int64())
}
