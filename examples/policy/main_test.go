package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheCautiousPolicyKeepsPods: two hosts come back and keep theirs. The third host's pod is evicted once the rack has
// been well for ten minutes.
func TestTheCautiousPolicyKeepsPods(t *testing.T) {
	var out bytes.Buffer
	playBoth(&out, t)
	require.Equal(t, `upstream's policy: during the outage evicted: [rack-1-0-p0 rack-1-1-p0 rack-1-2-p0]
upstream's policy: half an hour later: [rack-1-0-p0 rack-1-1-p0 rack-1-2-p0]
cautious policy: during the outage evicted: []
cautious policy: half an hour later: [rack-1-2-p0]
`, out.String())
}
