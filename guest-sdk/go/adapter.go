package oarlock

import (
	"encoding/json"
	"strings"

	"oarlock.dev/oarlock/abi"
	"oarlock.dev/oarlock/internal/fault"
)

// adapter is between the typed reconciler and the contract. Components and native tests go through it alike.
type adapter[O, S any] struct {
	manifest   Manifest
	reconciler Reconciler[O, S]
}

// prepare has encoding/json learn the types, which takes longer than a document of them.
func (a *adapter[O, S]) prepare() {
	learn(new(O))
	learn(new(S))
	learn(&Object{"of": []any{OwnerReference{}, map[string]string{}, []string{}, "", true, json.Number("1"), nil}})
}

func learn(value any) {
	// A type of the plugin may refuse an empty document, in whatever way.
	defer func() { _ = recover() }()
	_ = parse("{}", value)
	_, _ = json.Marshal(value)
}

func (a *adapter[O, S]) Describe() string {
	defer fault.Log()
	if abi.Component {
		checkConversions(a.manifest.Conversions, abi.Converts())
	}
	return a.manifest.document()
}

// checkConversions panics where the manifest and what is exported disagree.
func checkConversions(named []string, converts bool) {
	if len(named) > 0 && !converts {
		panic("oarlock: the manifest has the Conversions " + strings.Join(named, ", ") + ", but the plugin does not call conversion.Export")
	}
	if converts && len(named) == 0 {
		panic("oarlock: the plugin calls conversion.Export, but its manifest has no Conversions")
	}
}

func (a *adapter[O, S]) GetDesired(request *abi.Request) (*string, error) {
	defer fault.Log()
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
	defer fault.Log()
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
	defer fault.Log()
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
