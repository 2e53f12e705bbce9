//go:build wasip1

package oarlock

import "log/slog"

func init() { slog.SetDefault(slog.New(LogHandler{})) }
