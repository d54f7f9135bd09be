package main

import (
	"io"
	"log/slog"
)

// newLogger writes text or, with --logging-format=json, lines with the keys of Kubernetes' components: ts in
// milliseconds since 1970, msg, err and, unless it is an error, v.
func newLogger(o *options, to io.Writer) *slog.Logger {
	handler := &slog.HandlerOptions{Level: level(o.verbosity)}
	if o.loggingFormat != jsonFormat {
		return slog.New(slog.NewTextHandler(to, handler))
	}
	handler.ReplaceAttr = likeKubernetes
	return slog.New(slog.NewJSONHandler(to, handler))
}

func likeKubernetes(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		return slog.Float64("ts", float64(a.Value.Time().UnixMicro())/1000)
	case slog.LevelKey:
		at, _ := a.Value.Any().(slog.Level)
		if at >= slog.LevelError {
			return slog.Attr{}
		}
		return slog.Int("v", verbosity(at))
	case "error":
		a.Key = "err"
	}
	return a
}

// level returns the lowest level that is logged at a verbosity, and verbosity the lowest verbosity that logs a level.
func level(verbosity int) slog.Level {
	switch {
	case verbosity >= 4:
		return slog.LevelDebug
	case verbosity >= 2:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

func verbosity(at slog.Level) int {
	switch {
	case at >= slog.LevelWarn:
		return 0
	case at >= slog.LevelInfo:
		return 2
	default:
		return 4
	}
}
