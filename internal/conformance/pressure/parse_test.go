package pressure

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// parsed compares the two parsers and counts the rules that make a difference.
func parsed(t *testing.T, s nodepressure.Settings, fired map[Rule]int) {
	t.Helper()
	mine, err := s.ParseThresholds()
	var faults utilerrors.Aggregate
	if errors.As(err, &faults) && len(faults.Errors()) > 1 {
		fired[EveryFault]++ // the kubelet returns one
	}
	if strict(t, &s, err) {
		fired[ParseStrict]++
		mine, err = s.ParseThresholds()
	}
	theirs, theirErr := kubelets(s)
	off := s
	off.EvictionHard, off.EvictionSoft = turnedOff(s.EvictionHard), turnedOff(s.EvictionSoft)
	if !maps.Equal(off.EvictionHard, s.EvictionHard) || !maps.Equal(off.EvictionSoft, s.EvictionSoft) {
		before, beforeErr := theirs, theirErr
		theirs, theirErr = kubelets(off)
		if !slices.Equal(before, theirs) || (beforeErr == nil) != (theirErr == nil) {
			fired[ParseOff]++
		}
	}
	require.Equal(t, theirErr == nil, err == nil, "%+v\nthe kubelet says %v, ours %v", s, theirErr, err)
	if err != nil {
		return
	}
	var got []string
	for _, threshold := range mine {
		got = append(got, amounts(string(threshold.Signal), &threshold.Value.Quantity, threshold.Value.Percentage, &threshold.MinReclaim.Quantity, threshold.MinReclaim.Percentage)+threshold.GracePeriod.String())
	}
	require.Equal(t, theirs, sorted(got), "%+v", s)
}

// strict removes what ours refuses deliberately, after it has checked that the error names it.
func strict(t *testing.T, s *nodepressure.Settings, err error) (removed bool) {
	t.Helper()
	s.EvictionHard, s.EvictionSoft, s.EvictionMinimumReclaim = maps.Clone(s.EvictionHard), maps.Clone(s.EvictionSoft), maps.Clone(s.EvictionMinimumReclaim)
	s.EvictionSoftGracePeriod = maps.Clone(s.EvictionSoftGracePeriod)
	remove := func(name string, entries map[string]string, is func(signal, text string) bool) {
		for signal, text := range entries {
			if nodepressure.Signal(signal).Valid() && is(signal, text) {
				require.ErrorContains(t, err, name+"["+signal+"]")
				delete(entries, signal)
				removed = true
			}
		}
	}
	derived := func(signal, _ string) bool { return strings.HasPrefix(signal, "containerfs.") }
	remove("evictionSoftGracePeriod", s.EvictionSoftGracePeriod, derived)
	remove("evictionHard", s.EvictionHard, func(signal, text string) bool { return derived(signal, "") || refused(text, false) })
	remove("evictionSoft", s.EvictionSoft, func(signal, text string) bool { return derived(signal, "") || refused(text, false) })
	remove("evictionMinimumReclaim", s.EvictionMinimumReclaim, func(signal, text string) bool {
		if derived(signal, "") || refused(text, true) {
			return true
		}
		for _, thresholds := range []map[string]string{s.EvictionHard, s.EvictionSoft} {
			value, on := share(thresholds[signal])
			if q, err := resource.ParseQuantity(thresholds[signal]); err == nil && q.Sign() > 0 {
				on = true
			}
			if reclaim, positive := share(text); on && value < 1 && positive && value+reclaim > 1-1e-6 {
				return true
			}
		}
		return false
	})
	return removed
}

// share reads a percentage of more than 0%, and says whether it is one.
func share(text string) (float32, bool) {
	number, isShare := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(number, 32)
	if !isShare || err != nil || value <= 0 {
		return 0, false
	}
	return float32(value) / 100, true
}

// refused says whether ParseStrict applies.
func refused(text string, reclaim bool) bool {
	number, isShare := strings.CutSuffix(text, "%")
	if !isShare {
		_, err := resource.ParseQuantity(text)
		return err == nil && strings.Trim(text[len(text)-1:], "mun") == ""
	}
	value, err := strconv.ParseFloat(strings.TrimRight(text, "%"), 32)
	if err != nil {
		return false
	}
	if strings.Trim(number, "+-.0123456789") != "" {
		return true
	}
	share, exact := float32(value)/100, new(big.Rat)
	exact.SetString(number)
	return reclaim && share > 1 || share == 0 && exact.Sign() != 0 || share == 1 && exact.Cmp(big.NewRat(100, 1)) != 0
}

// turnedOff rewrites entries that ParseOff applies to, so that the kubelet understands them.
func turnedOff(entries map[string]string) map[string]string {
	result := maps.Clone(entries)
	for signal, text := range entries {
		number, isShare := strings.CutSuffix(text, "%")
		value, err := strconv.ParseFloat(number, 32)
		if share := float32(value) / 100; isShare && err == nil && (share == 0 || share == 1) && nodepressure.Signal(signal).Valid() {
			result[signal] = "0%"
		}
	}
	return result
}

func kubelets(s nodepressure.Settings) ([]string, error) {
	enforce := s.EnforceNodeAllocatable
	if enforce == nil {
		enforce = []string{"pods"}
	}
	thresholds, err := eviction.ParseThresholdConfig(enforce, s.EvictionHard, s.EvictionSoft, s.EvictionSoftGracePeriod, s.EvictionMinimumReclaim)
	var result []string
	for _, threshold := range thresholds {
		reclaim := evictionapi.ThresholdValue{}
		if threshold.MinReclaim != nil {
			reclaim = *threshold.MinReclaim
		}
		result = append(result, amounts(string(threshold.Signal), threshold.Value.Quantity, threshold.Value.Percentage, reclaim.Quantity, reclaim.Percentage)+threshold.GracePeriod.String())
	}
	return sorted(result), err
}

// amounts returns the same for equal thresholds; a missing quantity is 0.
func amounts(signal string, value *resource.Quantity, share float32, reclaim *resource.Quantity, reclaimShare float32) string {
	amount := func(q *resource.Quantity) string {
		if q == nil || q.IsZero() {
			return "0"
		}
		return q.AsDec().String()
	}
	return fmt.Sprintf("%s %s %v reclaim %s %v for ", signal, amount(value), share, amount(reclaim), reclaimShare)
}

func TestParsing(t *testing.T) {
	fired := map[Rule]int{}
	r := rand.New(rand.NewSource(1))
	good := 0
	for range 60_000 {
		s := nodepressure.Settings{EvictionHard: map[string]string{}, EvictionSoft: map[string]string{}, EvictionSoftGracePeriod: map[string]string{}, EvictionMinimumReclaim: map[string]string{}}
		for range 1 + r.Intn(4) {
			signal := string(nodepressure.Signals()[r.Intn(9)])
			if r.Intn(20) == 0 {
				signal = "mem.available"
			}
			switch r.Intn(4) {
			case 0, 1:
				s.EvictionHard[signal] = randomText(r)
			case 2:
				s.EvictionSoft[signal] = randomText(r)
				if r.Intn(8) > 0 {
					s.EvictionSoftGracePeriod[signal] = []string{"0", "30s", "1m30s", "1h", "2s", "3ms", "-1s", "", "30"}[r.Intn(9)]
				}
			default:
				s.EvictionMinimumReclaim[signal] = randomText(r)
			}
		}
		if r.Intn(3) == 0 {
			s.EnforceNodeAllocatable = []string{"system-reserved"}
		}
		if _, err := s.ParseThresholds(); err == nil {
			good++
		}
		parsed(t, s, fired)
	}
	t.Logf("%d are good; %v", good, fired)
	require.Greater(t, good, 9_000)
	for _, rule := range []Rule{ParseOff, ParseStrict, EveryFault} {
		require.Greater(t, fired[rule], 100, rule.Name)
	}
}

// randomText returns an amount, most of the time.
func randomText(r *rand.Rand) string {
	number := []string{"0", "1", "5", "10", "33.3", "99.99999999", "100", "100.0", "101", "-1", "1e2", "1e-46", "0x1p-2", "NaN", "Inf", "-0", "0.00", "", "x", "1_0", "+7", " 1"}[r.Intn(22)]
	if r.Intn(3) > 0 {
		number = strconv.Itoa(1 + r.Intn(99))
	}
	suffix := []string{"%", "%", "%", "Mi", "Gi", "k", "", "m", "e3", "E", "%%", "Mi%", "n"}[r.Intn(13)]
	return number + suffix
}

func FuzzParsing(f *testing.F) {
	f.Add("memory.available", "100Mi", "300Mi", "30s", "5%", true)
	f.Add("nodefs.available", "100.0%", "0.00%", "0", "NaN%", false)
	f.Add("imagefs.inodesFree", "10%%", "1e400%", "-1h", "101%", false)
	f.Fuzz(func(t *testing.T, signal, hard, soft, grace, reclaim string, enforce bool) {
		s := nodepressure.Settings{
			EvictionHard: map[string]string{signal: hard}, EvictionSoft: map[string]string{signal: soft},
			EvictionSoftGracePeriod: map[string]string{signal: grace}, EvictionMinimumReclaim: map[string]string{signal: reclaim},
		}
		if !enforce {
			s.EnforceNodeAllocatable = []string{}
		}
		parsed(t, s, map[Rule]int{})
	})
}
