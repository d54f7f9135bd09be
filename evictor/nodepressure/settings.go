package nodepressure

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Settings are the fields of a KubeletConfiguration that concern node pressure, with the same names. ParseSettings reads
// them from a kubelet's file, [Settings.SetFlag] from its flags, and [Settings.Config] makes the configuration of a
// Machine. They have the kubelet's defaults: the zero Settings are those of a kubelet on Linux without settings.
type Settings struct {
	// OperatingSystem chooses the defaults: v1.Linux (also if empty) or v1.Windows. KubeletConfiguration has no such
	// field, because a kubelet knows where it runs; you find it in the node's status and in its label kubernetes.io/os.
	OperatingSystem v1.OSName `json:"operatingSystem,omitempty"`
	// EvictionHard maps signals to quantities ("100Mi") or percentages of the capacity ("10%"). Any map, even an empty
	// one, replaces all defaults unless MergeDefaultEvictionSettings is set. 0% or 100% turns a threshold off.
	EvictionHard map[string]string `json:"evictionHard,omitzero"`
	// EvictionSoft is the same for soft thresholds. Each needs a grace period.
	EvictionSoft map[string]string `json:"evictionSoft,omitempty"`
	// EvictionSoftGracePeriod maps signals to durations ("1m30s"). 0 makes the threshold a hard one.
	EvictionSoftGracePeriod map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	// EvictionMinimumReclaim maps signals to quantities or percentages, for all thresholds of the signal. See
	// Threshold.MinReclaim.
	EvictionMinimumReclaim map[string]string `json:"evictionMinimumReclaim,omitempty"`
	// EvictionPressureTransitionPeriod is how long a condition outlasts its shortage; 0 means 5m.
	EvictionPressureTransitionPeriod metav1.Duration `json:"evictionPressureTransitionPeriod,omitempty"`
	// EvictionMaxPodGracePeriod caps, in seconds, the grace period of a pod in a soft eviction. If it is negative the
	// pod keeps its own grace period, as the kubelet's documentation says.
	EvictionMaxPodGracePeriod int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// MergeDefaultEvictionSettings adds the defaults of the signals that EvictionHard does not name.
	MergeDefaultEvictionSettings bool `json:"mergeDefaultEvictionSettings,omitempty"`
	// EnforceNodeAllocatable copies the hard memory threshold to allocatable memory if it contains "pods", as it does
	// by default (nil). Other values do nothing here, but must be ones that a kubelet knows.
	EnforceNodeAllocatable []string `json:"enforceNodeAllocatable,omitzero"`
	// LocalStorageCapacityIsolation is Config.LocalStorageLimits; nil means true.
	LocalStorageCapacityIsolation *bool `json:"localStorageCapacityIsolation,omitempty"`
}

// DefaultEvictionHard returns the hard thresholds of a kubelet without settings. Windows has a higher threshold for
// memory, because it keeps more for itself, and no inodes. For an operating system that Kubernetes does not run on, the
// map is empty.
func DefaultEvictionHard(on v1.OSName) map[string]string {
	defaults := map[string]string{string(NodeFsAvailable): "10%", string(ImageFsAvailable): "15%"}
	switch on {
	case v1.Linux, "":
		defaults[string(MemoryAvailable)] = "100Mi"
		defaults[string(NodeFsInodesFree)], defaults[string(ImageFsInodesFree)] = "5%", "5%"
	case v1.Windows:
		defaults[string(MemoryAvailable)] = "500Mi"
	default:
		clear(defaults)
	}
	return defaults
}

// Config returns the configuration that the settings describe, for a node with one file system; set its Layout for
// another. The error names every fault in all maps, such as evictionSoft[memory.available], in the order of the fields
// and of the signals' names.
func (s Settings) Config() (Config, error) {
	thresholds, errs := s.thresholds()
	config := DefaultConfig()
	config.Thresholds = thresholds
	config.MaxPodGracePeriodSeconds = int64(s.EvictionMaxPodGracePeriod)
	config.LocalStorageLimits = s.LocalStorageCapacityIsolation == nil || *s.LocalStorageCapacityIsolation
	if period := s.EvictionPressureTransitionPeriod.Duration; period < 0 {
		errs = append(errs, field.Invalid(field.NewPath("evictionPressureTransitionPeriod"), period.String(), "must not be negative"))
	} else if period > 0 {
		config.PressureTransitionPeriod = period
	}
	if len(errs) > 0 {
		return Config{}, errs.ToAggregate()
	}
	return config, nil
}

// ParseThresholds returns the thresholds of Settings.Config, in the order in which they are acted on.
func (s Settings) ParseThresholds() ([]Threshold, error) {
	thresholds, errs := s.thresholds()
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return thresholds, nil
}

// enforceable are the values of EnforceNodeAllocatable.
var enforceable = []string{"none", "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible"}

func (s Settings) hard() map[string]string {
	if s.EvictionHard == nil {
		return DefaultEvictionHard(s.OperatingSystem)
	}
	if !s.MergeDefaultEvictionSettings {
		return s.EvictionHard
	}
	merged := DefaultEvictionHard(s.OperatingSystem)
	maps.Copy(merged, s.EvictionHard)
	return merged
}

func (s Settings) thresholds() ([]Threshold, field.ErrorList) {
	var errs field.ErrorList
	if s.OperatingSystem != "" && s.OperatingSystem != v1.Linux && s.OperatingSystem != v1.Windows {
		errs = append(errs, field.NotSupported(field.NewPath("operatingSystem"), s.OperatingSystem, []v1.OSName{v1.Linux, v1.Windows}))
	}
	hard, soft := parsed("evictionHard", s.hard(), &errs), parsed("evictionSoft", s.EvictionSoft, &errs)
	errs = append(errs, s.setGracePeriods(soft)...)
	reclaims := make(map[Signal]Value, len(s.EvictionMinimumReclaim))
	each("evictionMinimumReclaim", s.EvictionMinimumReclaim, &errs, func(signal Signal, text string) error {
		reclaim, err := parseMinimumReclaim(text)
		reclaims[signal] = reclaim
		return err
	})
	result := slices.Concat(hard, soft)
	for i := range result {
		t := &result[i]
		t.MinReclaim = reclaims[t.Signal]
		if err := t.unreachable(); err != nil {
			path := field.NewPath("evictionMinimumReclaim").Key(string(t.Signal))
			errs = append(errs, field.Invalid(path, t.MinReclaim.String(), err.Error()))
		}
	}
	for i, what := range s.EnforceNodeAllocatable {
		if !slices.Contains(enforceable, what) {
			errs = append(errs, field.NotSupported(field.NewPath("enforceNodeAllocatable").Index(i), what, enforceable))
		}
	}
	if s.EnforceNodeAllocatable == nil || slices.Contains(s.EnforceNodeAllocatable, "pods") {
		for _, t := range result {
			if t.Signal == MemoryAvailable && t.Hard() {
				t.Signal = AllocatableMemoryAvailable
				result = append(result, t)
			}
		}
	}
	slices.SortStableFunc(result, compareThresholds)
	return result, errs
}

// parsed returns the thresholds of a map, without those that are turned off.
func parsed(name string, entries map[string]string, errs *field.ErrorList) (result []Threshold) {
	each(name, entries, errs, func(signal Signal, text string) error {
		value, off, err := parseThreshold(text)
		if err == nil && !off {
			result = append(result, Threshold{Signal: signal, Value: value})
		}
		return err
	})
	return result
}

// setGracePeriods sets the grace period of each soft threshold. Each needs one.
func (s Settings) setGracePeriods(soft []Threshold) (errs field.ErrorList) {
	graces := make(map[Signal]time.Duration, len(s.EvictionSoftGracePeriod))
	each("evictionSoftGracePeriod", s.EvictionSoftGracePeriod, &errs, func(signal Signal, text string) error {
		grace, err := time.ParseDuration(text)
		switch {
		case err != nil:
			return errDuration
		case grace < 0:
			return errNegative
		}
		graces[signal] = grace
		return nil
	})
	for i := range soft {
		signal := soft[i].Signal
		soft[i].GracePeriod = graces[signal]
		if _, ok := s.EvictionSoftGracePeriod[string(signal)]; !ok {
			errs = append(errs, field.Required(field.NewPath("evictionSoftGracePeriod").Key(string(signal)), "a soft threshold needs a grace period"))
		}
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return errs
}

// each parses the entries of a map in the order of their keys, and adds the faults to errs.
func each(name string, entries map[string]string, errs *field.ErrorList, parse func(Signal, string) error) {
	path := field.NewPath(name)
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if !Signal(key).Valid() {
			*errs = append(*errs, field.NotSupported(path.Key(key), Signal(key), settable()))
		} else if Signal(key).containerFs() {
			*errs = append(*errs, field.Forbidden(path.Key(key), errDerived.Error()))
		} else if err := parse(Signal(key), entries[key]); err != nil {
			*errs = append(*errs, field.Invalid(path.Key(key), entries[key], err.Error()))
		}
	}
}
