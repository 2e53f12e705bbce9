// Package fault ends a call in which the plugin's own code panicked.
package fault

import (
	"fmt"
	"runtime/debug"
	"strings"

	"oarlock.dev/oarlock/abi"
)

// Most lines of a trace that are logged.
const traceLines = 20

// Log logs what a plugin did not mean to happen, and ends the call: the trap it ends in carries no text. It is deferred.
func Log() {
	reason := recover()
	if reason == nil {
		return
	}
	if host := abi.Current(); host != nil {
		host.Log(abi.ErrorLevel, fmt.Sprintf("panic: %v\n%s", reason, trace(string(debug.Stack()))), nil)
	}
	abi.Trap()
	// In a native test it goes on.
	panic(reason)
}

// trace is a trace without what lies between the panic and the runtime, and between the host and the plugin.
func trace(stack string) string {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") && i+2 < len(lines) {
			lines = lines[i+2:]
			break
		}
	}
	for i, line := range lines {
		if strings.Contains(line, "oarlock.dev/oarlock.(*adapter[") || strings.Contains(line, "oarlock.dev/oarlock/conversion.Converter.") {
			lines = lines[:i]
			break
		}
	}
	if len(lines) > traceLines {
		lines = lines[:traceLines]
	}
	return strings.Join(lines, "\n")
}
