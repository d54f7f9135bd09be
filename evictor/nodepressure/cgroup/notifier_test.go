package cgroup

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNotifierConfig(t *testing.T) {
	require.NoError(t, NotifierConfig{}.Validate())
	require.NoError(t, NotifierConfig{Resource: "cpu", Stall: 10 * time.Second, Window: 10 * time.Second}.Validate())
}
