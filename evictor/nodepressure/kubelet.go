package nodepressure

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// ParseSettings reads the settings from a kubelet's configuration file, which is YAML or JSON. It ignores the fields that
// do not concern node pressure. Settings.Config says whether the values are right.
func ParseSettings(file []byte) (Settings, error) {
	text, err := yaml.YAMLToJSONStrict(file)
	var fields map[string]any
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return Settings{}, fmt.Errorf("nodepressure: %w", err)
	}
	var errs field.ErrorList
	if kind := fields["kind"]; kind != nil && kind != "KubeletConfiguration" {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), fmt.Sprint(kind), []string{"KubeletConfiguration"}))
	}
	for name := range fields {
		// A kubelet does not know such a field, but a JSON decoder would take it.
		for _, ours := range settingNames {
			if name != ours && strings.EqualFold(name, ours) {
				errs = append(errs, field.NotSupported(field.NewPath(name), name, []string{ours}))
			}
		}
	}
	if len(errs) > 0 {
		return Settings{}, fmt.Errorf("nodepressure: %w", errs.ToAggregate())
	}
	var s Settings
	if err := json.Unmarshal(text, &s); err != nil {
		return Settings{}, fmt.Errorf("nodepressure: %w", err)
	}
	return s, nil
}

var settingNames = []string{
	"evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim", "evictionPressureTransitionPeriod", "evictionMaxPodGracePeriod",
	"mergeDefaultEvictionSettings", "enforceNodeAllocatable", "localStorageCapacityIsolation",
}

// SetFlag sets the field of a kubelet's flag, such as ("eviction-hard", "memory.available<1Gi,nodefs.available<10%"). The
// name may begin with --. A kubelet's flags override its file, field by field.
func (s *Settings) SetFlag(name, value string) (err error) {
	switch name = strings.TrimPrefix(name, "--"); name {
	case "eviction-hard":
		s.EvictionHard, err = parsePairs(value, "<")
	case "eviction-soft":
		s.EvictionSoft, err = parsePairs(value, "<")
	case "eviction-soft-grace-period":
		s.EvictionSoftGracePeriod, err = parsePairs(value, "=")
	case "eviction-minimum-reclaim":
		s.EvictionMinimumReclaim, err = parsePairs(value, "=")
	case "eviction-pressure-transition-period":
		if s.EvictionPressureTransitionPeriod.Duration, err = time.ParseDuration(value); err != nil {
			err = errDuration
		}
	case "eviction-max-pod-grace-period":
		var n int64
		if n, err = strconv.ParseInt(value, 10, 32); err != nil {
			err = errors.New("must be a number of seconds")
		}
		s.EvictionMaxPodGracePeriod = int32(n)
	case "enforce-node-allocatable":
		s.EnforceNodeAllocatable = strings.Split(value, ",")
	default:
		err = errors.New("is none of a kubelet's flags for evictions")
	}
	if err != nil {
		return fmt.Errorf("nodepressure: %w", field.Invalid(field.NewPath("--"+name), value, err.Error()))
	}
	return nil
}

// parsePairs reads signals and their amounts, which a separator parts, with commas between.
func parsePairs(text, separator string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, pair := range strings.Split(text, ",") {
		if pair == "" {
			continue
		}
		signal, amount, ok := strings.Cut(pair, separator)
		if signal = strings.TrimSpace(signal); !ok || strings.ContainsAny(amount, "<=>") {
			return nil, fmt.Errorf("must be a list such as memory.available%s…,nodefs.available%s…: %q is no pair", separator, separator, pair)
		}
		if _, twice := pairs[signal]; twice {
			return nil, fmt.Errorf("names %s twice", signal)
		}
		pairs[signal] = strings.TrimSpace(amount)
	}
	return pairs, nil
}
