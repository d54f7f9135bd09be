package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheLogIsLikeKubernetes' with --logging-format=json.
func TestTheLogIsLikeKubernetes(t *testing.T) {
	o, err := parse([]string{"--logging-format=json", "--v=4"}, io.Discard)
	require.NoError(t, err)
	var out bytes.Buffer
	handler := newLogger(&o, &out).Handler()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		record := slog.NewRecord(at, level, "text", 0)
		record.Add("node", "n", "error", errors.New("refused"), slog.Group("in", "error", 1))
		require.NoError(t, handler.Handle(context.Background(), record))
	}
	lines := json.NewDecoder(&out)
	for _, v := range []any{4.0, 2.0, 0.0, nil} {
		want := map[string]any{"ts": 1767323045678.9, "msg": "text", "node": "n", "err": "refused", "in": map[string]any{"error": 1.0}}
		if v != nil {
			want["v"] = v
		}
		var line map[string]any
		require.NoError(t, lines.Decode(&line))
		require.Equal(t, want, line)
	}
	_, err = parse([]string{"--logging-format=xml"}, io.Discard)
	require.EqualError(t, err, "--logging-format=xml: must be text or json")
}

func TestVersion(t *testing.T) {
	o, err := parse([]string{"--version"}, io.Discard)
	require.NoError(t, err)
	require.True(t, o.version)
	require.Equal(t, "unknown", versionOf(nil, false))
	require.Equal(t, "v0.1.0", versionOf(&debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}, true))
}
