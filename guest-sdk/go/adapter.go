package oarlock

import (
	"fmt"
	"runtime/debug"
	"strings"

	"oarlock.dev/oarlock/abi"
)

// adapter is between the typed reconciler and the contract. Components and native tests go through it alike.
type adapter[O, S any] struct {
	manifest   Manifest
	reconciler Reconciler[O, S]
}

func (a *adapter[O, S]) Describe() string {
	defer fault()
	return a.manifest.document()
}

func (a *adapter[O, S]) GetDesired(request *abi.Request) (*string, error) {
	defer fault()
	cx := &Context[O]{request: request}
	// By definition: the host does not ask, and reconcilers need not think of it.
	if cx.Deleting() {
		return nil, nil
	}
	state, err := a.reconciler.Desired(cx)
	if err != nil {
		return nil, err
	}
	return stateDocument("the desired state", state), nil
}

func (a *adapter[O, S]) GetActual(request *abi.Request) (*abi.Observation, error) {
	defer fault()
	observation, err := a.reconciler.Actual(&Context[O]{request: request})
	if err != nil {
		return nil, err
	}
	answer := &abi.Observation{
		State:          stateDocument("the actual state", observation.State),
		RequeueAfterMS: milliseconds(observation.RequeueAfter),
	}
	if observation.Status != nil {
		status := objectDocument("the status", observation.Status)
		answer.Status = &status
	}
	return answer, nil
}

func (a *adapter[O, S]) Patch(request *abi.Request, desired, actual *string) (*abi.Outcome, error) {
	defer fault()
	cx := &Context[O]{request: request}
	outcome, err := a.reconciler.Patch(cx, parseOption[S]("the desired state", desired), parseOption[S]("the actual state", actual))
	if err != nil {
		return nil, err
	}
	if outcome == nil {
		outcome = &Outcome{}
	}
	return &abi.Outcome{
		Changes:        outcome.Changes,
		Events:         outcome.Events,
		Warnings:       outcome.Warnings,
		RequeueAfterMS: milliseconds(outcome.RequeueAfter),
	}, nil
}

// stateDocument is a state as JSON. A nil map is none, as a nil pointer is.
func stateDocument[S any](what string, state *S) *string {
	if state == nil {
		return nil
	}
	text := document(what, *state)
	if text == "null" {
		return nil
	}
	return &text
}

// Most lines of a trace that are logged.
const traceLines = 20

// fault logs what a reconciler did not mean to happen, and ends the call: the trap it ends in carries no text.
func fault() {
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
		if strings.Contains(line, ".(*adapter[") {
			lines = lines[:i]
			break
		}
	}
	if len(lines) > traceLines {
		lines = lines[:traceLines]
	}
	return strings.Join(lines, "\n")
}
