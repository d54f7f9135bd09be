package nodepressure_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// TestAKubeletsFile is read as YAML or JSON, with all the fields that are no business of ours.
func TestAKubeletsFile(t *testing.T) {
	for _, file := range []string{
		"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 110\nevictionHard:\n  memory.available: 5%\nevictionPressureTransitionPeriod: 30s\nenforceNodeAllocatable: [none]\n",
		`{"kind":"KubeletConfiguration","maxPods":110,"evictionHard":{"memory.available":"5%"},"evictionPressureTransitionPeriod":"30s","enforceNodeAllocatable":["none"]}`,
	} {
		s, err := ParseSettings([]byte(file))
		require.NoError(t, err)
		require.Equal(t, Settings{EvictionHard: texts{"memory.available": "5%"}, EvictionPressureTransitionPeriod: metav1.Duration{Duration: 30 * time.Second}, EnforceNodeAllocatable: []string{"none"}}, s)
	}
	s, err := ParseSettings(nil)
	require.NoError(t, err)
	require.Equal(t, Settings{}, s)
	s, err = ParseSettings([]byte("evictionHard: {}"))
	require.NoError(t, err)
	require.NotNil(t, s.EvictionHard, "it replaces the defaults")
}

func TestFaultsOfAKubeletsFile(t *testing.T) {
	for file, want := range map[string]string{
		"\t":                                 "nodepressure: yaml: ",
		"kind: KubeProxy":                    `nodepressure: kind: Unsupported value: "KubeProxy": supported values: "KubeletConfiguration"`,
		"evictionhard: {}":                   `nodepressure: evictionhard: Unsupported value: "evictionhard": supported values: "evictionHard"`,
		"evictionHard: {a: 1}":               "evictionHard of type string",
		"evictionHard: 1":                    "evictionHard of type map[string]string",
		"evictionSoft: {}\nevictionSoft: {}": `key "evictionSoft" already set`,
	} {
		_, err := ParseSettings([]byte(file))
		require.ErrorContains(t, err, want, file)
	}
}

// TestNamesOfFieldsAreThoseOfTheFile: ParseSettings knows all of them, but the one that no file has.
func TestNamesOfFieldsAreThoseOfTheFile(t *testing.T) {
	of := reflect.TypeFor[Settings]()
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		_, err := ParseSettings([]byte(strings.ToUpper(name) + ": null"))
		if name == "operatingSystem" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, `supported values: "`+name+`"`)
	}
}

// TestAKubeletsFlags set what the file sets.
func TestAKubeletsFlags(t *testing.T) {
	var s Settings
	for name, value := range (texts{
		"--eviction-hard":                     "memory.available<1Gi, nodefs.available<10%,",
		"eviction-soft":                       "memory.available<2Gi",
		"eviction-soft-grace-period":          "memory.available=1m30s",
		"eviction-minimum-reclaim":            "memory.available=0Mi,nodefs.available=500Mi",
		"eviction-pressure-transition-period": "30s",
		"eviction-max-pod-grace-period":       "60",
		"enforce-node-allocatable":            "pods,kube-reserved",
	}) {
		require.NoError(t, s.SetFlag(name, value))
	}
	require.Equal(t, Settings{
		EvictionHard: texts{"memory.available": "1Gi", "nodefs.available": "10%"}, EvictionSoft: texts{"memory.available": "2Gi"}, EvictionSoftGracePeriod: texts{"memory.available": "1m30s"},
		EvictionMinimumReclaim:           texts{"memory.available": "0Mi", "nodefs.available": "500Mi"},
		EvictionPressureTransitionPeriod: metav1.Duration{Duration: 30 * time.Second}, EvictionMaxPodGracePeriod: 60, EnforceNodeAllocatable: []string{"pods", "kube-reserved"},
	}, s)
	_, err := s.Config()
	require.NoError(t, err)
	require.NoError(t, s.SetFlag("eviction-hard", ""))
	require.Equal(t, texts{}, s.EvictionHard, "no thresholds, not the defaults")
}

func TestFaultsOfFlags(t *testing.T) {
	for _, tc := range [][3]string{
		{"eviction-hard", "memory.available>1Gi", `nodepressure: --eviction-hard: Invalid value: "memory.available>1Gi": must be a list such as memory.available<…,nodefs.available<…: "memory.available>1Gi" is no pair`},
		{"eviction-hard", "memory.available<=1Gi", `"memory.available<=1Gi" is no pair`},
		{"eviction-minimum-reclaim", "memory.available<1Gi", `must be a list such as memory.available=…,nodefs.available=…`},
		{"eviction-soft", "memory.available<1Gi,memory.available<2Gi", "names memory.available twice"},
		{"eviction-pressure-transition-period", "5", "must be a duration such as 1m30s"},
		{"eviction-max-pod-grace-period", "60s", "must be a number of seconds"},
		{"eviction-hardly", "", "--eviction-hardly: Invalid value: \"\": is none of a kubelet's flags for evictions"},
	} {
		var s Settings
		require.ErrorContains(t, s.SetFlag(tc[0], tc[1]), tc[2])
	}
}
