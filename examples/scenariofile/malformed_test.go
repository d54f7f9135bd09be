package scenariofile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/examples/scenariofile"
)

// If an empty item were dropped, the numbers of later items would be wrong.
func TestEmptyItemsAreFaults(t *testing.T) {
	_, err := scenariofile.Parse("f", []byte("cluster: {files: [~], zones: [&none ~]}\nevents:\n-\n- {at: 1m, fail: {nodes: [a, null]}}\n- *none\nuntil: 1m\n"))
	require.EqualError(t, err, `f:1: cluster: files: item 1 of the list is empty
f:1: cluster: zones: item 1 of the list is empty
f:3: events: item 1 of the list is empty
f:4: event 2: fail: nodes: item 2 of the list is empty
f:5: events: item 3 of the list is empty`)
}

func TestWholeNumbersThatAreTooLarge(t *testing.T) {
	for _, text := range []string{"9223372036854775808.0", "-1e30", "-.inf"} {
		_, err := scenariofile.Parse("f", []byte("cluster: {zones: [{name: a, tolerationSeconds: "+text+"}]}\nuntil: 1m"))
		require.EqualError(t, err, "f:1: cluster: zone 1: tolerationSeconds: "+text+" is too large")
	}
	s, err := scenariofile.Parse("f", []byte("cluster: {zones: [{name: a, tolerationSeconds: 9e18}]}\nuntil: 1m"))
	require.NoError(t, err)
	require.EqualValues(t, 9e18, *s.Cluster.Zones[0].TolerationSeconds)
}
