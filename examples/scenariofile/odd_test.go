package scenariofile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/examples/scenariofile"
)

// An item that is left out would number those after it wrongly.
func TestEmptyItemsAreFaults(t *testing.T) {
	_, err := scenariofile.Parse("f", []byte("cluster: {files: [~], zones: [&none ~]}\nevents:\n-\n- {at: 1m, fail: {nodes: [a, null]}}\n- *none\nuntil: 1m\n"))
	require.EqualError(t, err, `f: line 1: an item of a list is empty
f: line 1: an item of a list is empty
f: line 3: an item of a list is empty
f: line 4: an item of a list is empty
f: line 5: an item of a list is empty`)
}

func TestWholeNumbersThatAreTooLarge(t *testing.T) {
	for _, text := range []string{"9223372036854775808.0", "-1e30", "-.inf"} {
		_, err := scenariofile.Parse("f", []byte("cluster: {zones: [{name: a, tolerationSeconds: "+text+"}]}\nuntil: 1m"))
		require.EqualError(t, err, "f: line 1: "+text+" is too large")
	}
	s, err := scenariofile.Parse("f", []byte("cluster: {zones: [{name: a, tolerationSeconds: 9e18}]}\nuntil: 1m"))
	require.NoError(t, err)
	require.EqualValues(t, 9e18, *s.Cluster.Zones[0].TolerationSeconds)
}
