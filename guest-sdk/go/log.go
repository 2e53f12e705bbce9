package oarlock

import (
	"context"
	"fmt"
	"log/slog"

	"oarlock.dev/oarlock/abi"
)

// LogHandler is a handler for slog whose records are lines in the host's log, with the plugin's name and the reconcile's key. The host
// decides by its own settings what is kept. In a component it is slog's default, so the package log ends up there, too.
type LogHandler struct {
	prefix string
	fields [][2]string
}

// Enabled is always true.
func (LogHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes a line.
func (h LogHandler) Handle(_ context.Context, record slog.Record) error {
	// While the program starts there is nobody to tell.
	host := abi.Current()
	if host == nil {
		return nil
	}
	fields := h.fields[:len(h.fields):len(h.fields)]
	record.Attrs(func(attr slog.Attr) bool {
		fields = flat(fields, h.prefix, attr)
		return true
	})
	level := abi.Debug
	switch {
	case record.Level >= slog.LevelError:
		level = abi.ErrorLevel
	case record.Level >= slog.LevelWarn:
		level = abi.Warn
	case record.Level >= slog.LevelInfo:
		level = abi.Info
	}
	host.Log(level, record.Message, fields)
	return nil
}

// WithAttrs adds fields to each line.
func (h LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.fields = h.fields[:len(h.fields):len(h.fields)]
	for _, attr := range attrs {
		h.fields = flat(h.fields, h.prefix, attr)
	}
	return h
}

// WithGroup puts a name before those of the fields that follow.
func (h LogHandler) WithGroup(name string) slog.Handler {
	h.prefix += name + "."
	return h
}

// flat adds a field, and of a group its parts.
func flat(to [][2]string, prefix string, attr slog.Attr) [][2]string {
	value := attr.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		return append(to, [2]string{prefix + attr.Key, fmt.Sprint(value.Any())})
	}
	if attr.Key != "" {
		prefix += attr.Key + "."
	}
	for _, part := range value.Group() {
		to = flat(to, prefix, part)
	}
	return to
}
