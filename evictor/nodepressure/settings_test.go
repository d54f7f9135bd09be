package nodepressure_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

type texts = map[string]string

// none replaces the defaults by nothing.
var none = texts{}

func TestParseThresholds(t *testing.T) {
	half := time.Minute / 2
	for _, tc := range []struct {
		name     string
		settings Settings
		want     []Threshold
	}{
		{"Nothing", Settings{EvictionHard: none}, nil},
		{"AllMemoryValues", Settings{
			EnforceNodeAllocatable: []string{"pods"},
			EvictionHard:           texts{"memory.available": "150Mi"}, EvictionSoft: texts{"memory.available": "300Mi"},
			EvictionSoftGracePeriod: texts{"memory.available": "30s"}, EvictionMinimumReclaim: texts{"memory.available": "0"},
		}, []Threshold{
			reclaiming(hardly(MemoryAvailable, "150Mi"), "0"), reclaiming(hardly(AllocatableMemoryAvailable, "150Mi"), "0"),
			reclaiming(softly(MemoryAvailable, "300Mi", half), "0"),
		}},
		{"MemoryPercentages", Settings{
			EnforceNodeAllocatable: []string{},
			EvictionHard:           texts{"memory.available": "10%"}, EvictionSoft: texts{"memory.available": "30%"},
			EvictionSoftGracePeriod: texts{"memory.available": "30s"}, EvictionMinimumReclaim: texts{"memory.available": "5%"},
		}, []Threshold{
			{Signal: MemoryAvailable, Value: Value{Percentage: 0.1}, MinReclaim: Value{Percentage: 0.05}},
			{Signal: MemoryAvailable, Value: Value{Percentage: 0.3}, MinReclaim: Value{Percentage: 0.05}, GracePeriod: half},
		}},
		{"Disk", Settings{
			EvictionHard: texts{"imagefs.available": "150Mi", "nodefs.available": "100Mi"}, EvictionSoft: texts{"imagefs.available": "300Mi", "nodefs.available": "200Mi"},
			EvictionSoftGracePeriod: texts{"imagefs.available": "30s", "nodefs.available": "30s"}, EvictionMinimumReclaim: texts{"imagefs.available": "2Gi", "nodefs.available": "1Gi"},
		}, []Threshold{
			reclaiming(hardly(NodeFsAvailable, "100Mi"), "1Gi"), reclaiming(hardly(ImageFsAvailable, "150Mi"), "2Gi"),
			reclaiming(softly(NodeFsAvailable, "200Mi", half), "1Gi"), reclaiming(softly(ImageFsAvailable, "300Mi", half), "2Gi"),
		}},
		{"DiskPercentages", Settings{
			EvictionHard: texts{"imagefs.available": "15%", "nodefs.available": "10.5%"}, EvictionMinimumReclaim: texts{"imagefs.available": "10%"},
		}, []Threshold{
			percent(NodeFsAvailable, 0.105),
			{Signal: ImageFsAvailable, Value: Value{Percentage: 0.15}, MinReclaim: Value{Percentage: 0.1}},
		}},
		{"Inodes", Settings{
			EvictionHard: texts{"imagefs.inodesFree": "150Mi", "nodefs.inodesFree": "100Mi"}, EvictionMinimumReclaim: texts{"nodefs.inodesFree": "1Gi"},
		}, []Threshold{reclaiming(hardly(NodeFsInodesFree, "100Mi"), "1Gi"), hardly(ImageFsInodesFree, "150Mi")}},
		{"Processes", Settings{EvictionHard: texts{"pid.available": "10%"}}, []Threshold{percent(PIDAvailable, 0.1)}},
		{"OffAtNothing", Settings{EvictionHard: texts{"memory.available": "0%"}, EvictionSoft: texts{"memory.available": "0%"}}, nil},
		{"OffAtEverything", Settings{EvictionHard: texts{"memory.available": "100%"}, EvictionSoft: texts{"memory.available": "100%"}}, nil},
		{"OffHoweverWritten", Settings{EvictionHard: texts{"memory.available": "100.0%", "nodefs.available": "-0%", "pid.available": "0.00%"}}, nil},
		{"SoftWithoutWaitingIsHard", Settings{
			EvictionHard: none, EvictionSoft: texts{"memory.available": "1Gi"}, EvictionSoftGracePeriod: texts{"memory.available": "0s"},
		}, []Threshold{hardly(MemoryAvailable, "1Gi"), hardly(AllocatableMemoryAvailable, "1Gi")}},
		{"SoftMemoryIsNotCopied", Settings{
			EvictionHard: none, EvictionSoft: texts{"memory.available": "1Gi"}, EvictionSoftGracePeriod: texts{"memory.available": "30s"},
		}, []Threshold{softly(MemoryAvailable, "1Gi", half)}},
		{"OthersAreNotCopied", Settings{EvictionHard: texts{"nodefs.available": "1Gi"}}, []Threshold{hardly(NodeFsAvailable, "1Gi")}},
		{"NotEnforced", Settings{EvictionHard: texts{"memory.available": "1Gi"}, EnforceNodeAllocatable: []string{"system-reserved"}}, []Threshold{hardly(MemoryAvailable, "1Gi")}},
		{"GraceAndReclaimOfNothing", Settings{EvictionHard: none, EvictionSoftGracePeriod: texts{"memory.available": "30s"}, EvictionMinimumReclaim: texts{"memory.available": "1Gi"}}, nil},
		{"Defaults", Settings{}, []Threshold{
			hardly(MemoryAvailable, "100Mi"), hardly(AllocatableMemoryAvailable, "100Mi"), percent(NodeFsAvailable, 0.1), percent(NodeFsInodesFree, 0.05),
			percent(ImageFsAvailable, 0.15), percent(ImageFsInodesFree, 0.05),
		}},
		{"OneReplacesAllDefaults", Settings{EvictionHard: texts{"pid.available": "100"}}, []Threshold{hardly(PIDAvailable, "100")}},
		{"MergedWithDefaults", Settings{EvictionHard: texts{"pid.available": "100", "nodefs.available": "0%", "memory.available": "1Gi"}, MergeDefaultEvictionSettings: true}, []Threshold{
			hardly(MemoryAvailable, "1Gi"), hardly(AllocatableMemoryAvailable, "1Gi"), percent(NodeFsInodesFree, 0.05),
			percent(ImageFsAvailable, 0.15), percent(ImageFsInodesFree, 0.05), hardly(PIDAvailable, "100"),
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.settings.ParseThresholds()
			require.NoError(t, err)
			require.Len(t, got, len(tc.want))
			for i := range got {
				require.Equal(t, tc.want[i].String(), got[i].String())
				require.Equal(t, tc.want[i].Value.Percentage, got[i].Value.Percentage)
				require.Equal(t, tc.want[i].MinReclaim.String(), got[i].MinReclaim.String())
				require.Equal(t, tc.want[i].GracePeriod, got[i].GracePeriod)
			}
		})
	}
}

// TestSettingsFaults: one fault each, and the text that names it.
func TestSettingsFaults(t *testing.T) {
	hard := func(signal, text string) Settings { return Settings{EvictionHard: texts{signal: text}} }
	soft := func(text, grace string) Settings {
		return Settings{EvictionSoft: texts{"memory.available": text}, EvictionSoftGracePeriod: texts{"memory.available": grace}}
	}
	reclaim := func(signal, text string) Settings {
		return Settings{EvictionMinimumReclaim: texts{signal: text}}
	}
	for _, tc := range []struct {
		name     string
		settings Settings
		want     string
	}{
		{"UnknownSignal", hard("mem.available", "150Mi"), `evictionHard[mem.available]: Unsupported value: "mem.available": supported values: "memory.available", `},
		{"ValidAndUnknown", Settings{EvictionHard: texts{"memory.available": "150Mi", "invalid.foo": "150Mi"}}, `evictionHard[invalid.foo]`},
		{"HardNegative", hard("memory.available", "-150Mi"), `evictionHard[memory.available]: Invalid value: "-150Mi": must be greater than 0`},
		{"HardNothing", hard("memory.available", "0"), `must be greater than 0`},
		{"HardEmpty", hard("memory.available", ""), `must be a quantity such as 100Mi, or a percentage such as 10%`},
		{"HardNegativePercentage", hard("memory.available", "-15%"), `must be between 0% and 100%`},
		{"HardMoreThanAll", hard("memory.available", "150%"), `must be between 0% and 100%`},
		{"HardNoNumber", hard("memory.available", "10..5%"), `must be a number followed by one percent sign`},
		{"HardOnlyTheSign", hard("memory.available", "%"), `must be a number followed by one percent sign`},
		{"HardNaN", hard("memory.available", "NaN%"), `must be a number followed by one percent sign`},
		{"HardInfinite", hard("memory.available", "Inf%"), `must be a number followed by one percent sign`},
		{"HardTwoSigns", hard("memory.available", "10%%"), `must be a number followed by one percent sign`},
		{"HardHexadecimal", hard("memory.available", "0x1p-1%"), `evictionHard[memory.available]: Invalid value: "0x1p-1%": must be a number followed by one percent sign, such as 12.5%`},
		{"HardExponent", hard("memory.available", "1e1%"), `must be a number followed by one percent sign`},
		{"HardNearlyAll", hard("memory.available", "99.9999999%"), `evictionHard[memory.available]: Invalid value: "99.9999999%": is too close to 100%, as which it would count: write 100% or a number with fewer digits`},
		{"HardNearlyNothing", hard("memory.available", "0."+strings.Repeat("0", 60)+"1%"), `is too close to 0%, as which it would count`},
		{"HardThousandths", hard("memory.available", "100m"), `evictionHard[memory.available]: Invalid value: "100m": is counted in fractions of one: m is a thousandth; write 100Mi or 100M for mebibytes or megabytes`},
		{"HardMillionths", hard("memory.available", "100u"), `is counted in fractions of one`},
		{"HardContainerFs", hard("containerfs.available", "10%"), `evictionHard[containerfs.available]: Forbidden: has no threshold of its own: it takes that of nodefs or imagefs, on which it is; set that one`},
		{"ReclaimContainerFs", reclaim("containerfs.inodesFree", "10%"), `evictionMinimumReclaim[containerfs.inodesFree]: Forbidden: has no threshold of its own`},
		{"ReclaimThousandths", reclaim("memory.available", "100m"), `evictionMinimumReclaim[memory.available]: Invalid value: "100m": is counted in fractions of one`},
		{"ReclaimNearlyAll", reclaim("memory.available", "99.9999999%"), `is too close to 100%`},
		{"ReclaimUnreachable", Settings{EvictionHard: texts{"nodefs.available": "60%"}, EvictionMinimumReclaim: texts{"nodefs.available": "40%"}},
			`evictionMinimumReclaim[nodefs.available]: Invalid value: "40%": can never be reached: with the threshold of 60% it is 100% of the capacity or more; it must be less than 40%`},
		{"ReclaimUnreachableSoftly", Settings{EvictionSoft: texts{"nodefs.available": "55%"}, EvictionSoftGracePeriod: texts{"nodefs.available": "30s"}, EvictionMinimumReclaim: texts{"nodefs.available": "45%"}},
			`evictionMinimumReclaim[nodefs.available]: Invalid value: "45%": can never be reached`},
		{"EnforceMisspelt", Settings{EnforceNodeAllocatable: []string{"none", "pod"}}, `enforceNodeAllocatable[1]: Unsupported value: "pod": supported values: "none", "pods", `},
		{"SoftNegative", soft("-150Mi", "30s"), `evictionSoft[memory.available]: Invalid value: "-150Mi"`},
		{"SoftWithoutGrace", Settings{EvictionSoft: texts{"memory.available": "150Mi"}}, `evictionSoftGracePeriod[memory.available]: Required value`},
		{"GraceNegative", soft("150Mi", "-30s"), `evictionSoftGracePeriod[memory.available]: Invalid value: "-30s": must not be negative`},
		{"GraceNoDuration", soft("150Mi", "30mins"), `evictionSoftGracePeriod[memory.available]: Invalid value: "30mins": must be a duration such as 1m30s`},
		{"GraceUnknownSignal", Settings{EvictionSoftGracePeriod: texts{"mem.available": "30s"}}, `evictionSoftGracePeriod[mem.available]`},
		{"ReclaimNegative", reclaim("memory.available", "-300Mi"), `evictionMinimumReclaim[memory.available]: Invalid value: "-300Mi": must not be negative`},
		{"ReclaimUnknownSignal", reclaim("mem.available", "300Mi"), `evictionMinimumReclaim[mem.available]`},
		{"ReclaimEmpty", reclaim("memory.available", ""), `evictionMinimumReclaim[memory.available]`},
		{"ReclaimNegativePercentage", reclaim("memory.available", "-15%"), `must be more than 0% and at most 100%`},
		{"ReclaimNoPercentage", reclaim("memory.available", "0%"), `must be more than 0% and at most 100%`},
		{"ReclaimMoreThanAll", reclaim("memory.available", "101%"), `must be more than 0% and at most 100%`},
		{"ReclaimNoNumber", reclaim("memory.available", "10..5%"), `must be a number followed by one percent sign`},
		{"TransitionNegative", Settings{EvictionPressureTransitionPeriod: metav1.Duration{Duration: -time.Second}}, `evictionPressureTransitionPeriod: Invalid value: "-1s"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.settings.Config()
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestSettingsReportEveryFault(t *testing.T) {
	_, err := Settings{
		EvictionHard:                     texts{"a": "1", "memory.available": "x"},
		EvictionSoft:                     texts{"b": "1", "nodefs.available": "1Gi", "imagefs.available": "-1%"},
		EvictionSoftGracePeriod:          texts{"c": "1s", "pid.available": "y"},
		EvictionMinimumReclaim:           texts{"d": "1", "pid.available": "-1"},
		EvictionPressureTransitionPeriod: metav1.Duration{Duration: -1},
	}.Config()
	for _, part := range []string{
		"evictionHard[a]", "evictionHard[memory.available]", "evictionSoft[b]", "evictionSoft[imagefs.available]", "evictionSoftGracePeriod[nodefs.available]: Required",
		"evictionSoftGracePeriod[c]", "evictionSoftGracePeriod[pid.available]", "evictionMinimumReclaim[d]", "evictionMinimumReclaim[pid.available]", "evictionPressureTransitionPeriod",
	} {
		require.ErrorContains(t, err, part)
	}
}

// TestFaultsOfSettingsAreInOrder of the fields and, within a field, of the signals.
func TestFaultsOfSettingsAreInOrder(t *testing.T) {
	_, err := Settings{
		EvictionSoft: texts{"nodefs.available": "1Gi", "pid.available": "x"}, EvictionSoftGracePeriod: texts{"imagefs.available": "y", "pid.available": "z"}, EvictionMinimumReclaim: texts{"a": "1"},
	}.Config()
	var faults utilerrors.Aggregate
	require.ErrorAs(t, err, &faults)
	var fields []string
	for _, fault := range faults.Errors() {
		name, _, _ := strings.Cut(fault.Error(), ":")
		fields = append(fields, name)
	}
	require.Equal(t, []string{
		"evictionSoft[pid.available]", "evictionSoftGracePeriod[imagefs.available]", "evictionSoftGracePeriod[nodefs.available]", "evictionSoftGracePeriod[pid.available]", "evictionMinimumReclaim[a]",
	}, fields)
}

func TestSettingsDecodeFromAKubeletsConfiguration(t *testing.T) {
	var s Settings
	require.NoError(t, json.Unmarshal([]byte(`{"evictionHard":{"memory.available":"5%"},"evictionSoft":{"memory.available":"1Gi"},"evictionSoftGracePeriod":{"memory.available":"1m30s"},
		"evictionPressureTransitionPeriod":"30s","evictionMaxPodGracePeriod":60,"mergeDefaultEvictionSettings":true,"enforceNodeAllocatable":["none"]}`), &s))
	config, err := s.Config()
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, config.PressureTransitionPeriod)
	require.EqualValues(t, 60, config.MaxPodGracePeriodSeconds)
	require.True(t, config.LocalStorageLimits)
	require.Len(t, config.Thresholds, 6)
	require.Equal(t, "memory.available < 5%", config.Thresholds[0].String())
	require.Equal(t, "memory.available < 1Gi for 1m30s", config.Thresholds[5].String())

	config, err = Settings{}.Config()
	require.NoError(t, err)
	require.Equal(t, DefaultConfig(), config)
	require.Equal(t, 5*time.Minute, config.PressureTransitionPeriod)
}

// TestSettingsTurnLimitsOff, as for a kubelet that cannot measure how much disk its pods use.
func TestSettingsTurnLimitsOff(t *testing.T) {
	for text, want := range map[string]bool{`{"localStorageCapacityIsolation":false}`: false, `{"localStorageCapacityIsolation":true}`: true, `{}`: true} {
		var s Settings
		require.NoError(t, json.Unmarshal([]byte(text), &s))
		config, err := s.Config()
		require.NoError(t, err)
		require.Equal(t, want, config.LocalStorageLimits, text)
	}
}

// TestMergingChangesNoInput: settings are only read, and defaults are copies.
func TestMergingChangesNoInput(t *testing.T) {
	given := texts{"pid.available": "100"}
	_, err := Settings{EvictionHard: given, MergeDefaultEvictionSettings: true}.ParseThresholds()
	require.NoError(t, err)
	require.Equal(t, texts{"pid.available": "100"}, given)
	DefaultEvictionHard(v1.Linux)["memory.available"] = "broken"
	require.Equal(t, "100Mi", DefaultEvictionHard(v1.Linux)["memory.available"])
}

// TestDefaultsOfWindows: they are the Windows kubelet's, alone and when merged.
func TestDefaultsOfWindows(t *testing.T) {
	require.Equal(t, texts{"memory.available": "500Mi", "nodefs.available": "10%", "imagefs.available": "15%"}, DefaultEvictionHard(v1.Windows))
	require.Equal(t, DefaultEvictionHard(v1.Linux), DefaultEvictionHard(""))
	require.Empty(t, DefaultEvictionHard("plan9"))
	named := func(s Settings) (names []string) {
		config, err := s.Config()
		require.NoError(t, err)
		for _, threshold := range config.Thresholds {
			names = append(names, threshold.String())
		}
		return names
	}
	require.Equal(t, []string{"memory.available < 500Mi", "allocatableMemory.available < 500Mi", "nodefs.available < 10%", "imagefs.available < 15%"}, named(Settings{OperatingSystem: v1.Windows}))
	require.Equal(t, []string{"memory.available < 500Mi", "allocatableMemory.available < 500Mi", "nodefs.available < 20%", "imagefs.available < 15%"},
		named(Settings{OperatingSystem: v1.Windows, EvictionHard: texts{"nodefs.available": "20%"}, MergeDefaultEvictionSettings: true}))

	var decoded Settings
	require.NoError(t, json.Unmarshal([]byte(`{"operatingSystem":"windows"}`), &decoded))
	require.Equal(t, v1.Windows, decoded.OperatingSystem)
}

func TestAZeroConfigWatchesNothing(t *testing.T) {
	machine, err := New(Config{})
	require.NoError(t, err)
	require.Equal(t, Nothing, machine.Observe(sample(MemoryAvailable, "0")).Action)
	require.Empty(t, machine.Conditions())
}

// FuzzSettings: parsing never panics. What it accepts is a valid configuration whose thresholds read back as the same
// amounts. It names what it rejects.
func FuzzSettings(f *testing.F) {
	f.Add("memory.available", "100Mi", "300Mi", "30s", "5%")
	f.Add("nodefs.available", "10.5%", "99.9999999%", "0", "100%")
	f.Add("pid.available", "1e-40%", "-0%", "-1s", "0")
	f.Add("nodefs.inodesFree", "0x1p-1%", "100m", "1s", "49.99999999%")
	f.Fuzz(func(t *testing.T, signal, hard, soft, grace, reclaim string) {
		settings := Settings{
			EvictionHard: texts{signal: hard}, EvictionSoft: texts{signal: soft}, EvictionSoftGracePeriod: texts{signal: grace}, EvictionMinimumReclaim: texts{signal: reclaim},
		}
		config, err := settings.Config()
		if err != nil {
			require.ErrorContains(t, err, "["+signal+"]")
			return
		}
		require.NoError(t, config.Validate())
		for _, threshold := range config.Thresholds {
			at := threshold.Value.At(1 << 40)
			require.GreaterOrEqual(t, at.Sign(), 0)
			if threshold.Value.Percentage != 0 {
				require.LessOrEqual(t, at.Value(), int64(1<<40))
				continue
			}
			again, err := Settings{EvictionHard: texts{signal: threshold.Value.String()}, EnforceNodeAllocatable: []string{}}.ParseThresholds()
			require.NoError(t, err)
			require.Zero(t, again[0].Value.Quantity.Cmp(threshold.Value.Quantity))
		}
	})
}
