package cgroup

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNotifierConfig(t *testing.T) {
	require.NoError(t, NotifierConfig{}.Validate())
	require.NoError(t, NotifierConfig{Resource: "cpu", Stall: 10 * time.Second, Window: 10 * time.Second}.Validate())
	for _, tc := range []struct {
		config NotifierConfig
		want   []string
	}{
		{NotifierConfig{Resource: "disk", Stall: -1, Window: time.Minute}, []string{`resource: Unsupported value: "disk"`, "stall: Invalid value", "window: Invalid value"}},
		{NotifierConfig{Window: 499 * time.Millisecond}, []string{"window"}},
		{NotifierConfig{Window: -1}, []string{"window"}},
		{NotifierConfig{Stall: 3 * time.Second}, []string{"stall"}},
		{NotifierConfig{Stall: 999}, []string{"stall"}},
	} {
		_, err := NewNotifier(Node{}, tc.config)
		for _, want := range tc.want {
			require.ErrorContains(t, err, want)
		}
	}
}
