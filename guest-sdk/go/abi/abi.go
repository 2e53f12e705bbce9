// Package abi is the contract between a plugin and the host (wit/reconciler.wit) in Go, as it is: JSON is text. Package oarlock puts types
// on it; use that one.
package abi

import "fmt"

// Kind names a kind of document. Group is empty for the core group.
type Kind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Key names one object of a kind. Namespace is empty for cluster-scoped kinds.
type Key struct{ Namespace, Name string }

// Trigger is the cause of a reconcile, for logs and metrics. The result of a reconcile must not depend on it.
type Trigger uint8

// The causes of a reconcile.
const (
	TriggerEvent Trigger = iota
	TriggerInitialList
	TriggerResync
	TriggerRequeue
	TriggerRetry
	TriggerSwap
	TriggerAdmission
)

// String is its name in the contract.
func (t Trigger) String() string {
	names := [...]string{"event", "initial-list", "resync", "requeue", "retry", "swap", "admission"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("trigger %d", uint8(t))
}

// Request is the object to reconcile, and the circumstances. All calls of one reconcile get the same one.
type Request struct {
	Kind Kind
	Key  Key
	// UID is kept when the object is gone. Empty at the admission of a create.
	UID string
	// Object is the primary object as JSON. Nil: it is gone.
	Object *string
	// LastSeen is the last state the cache held, when the object is gone.
	LastSeen *string
	// Deleting: the object is being deleted, and the host does not call GetDesired.
	Deleting bool
	Trigger  Trigger
	// Attempt is the number of this attempt; 1 is the first since the last success.
	Attempt uint32
	// CorrelationID is an id that the log lines, events and requests of one reconcile share.
	CorrelationID string
	// Review is the AdmissionRequest, in admission.
	Review *string
	// DryRun: nothing may change.
	DryRun bool
}

// Class says who tries again.
type Class uint8

// Who tries again.
const (
	// Transient: the host, after a delay or with backoff.
	Transient Class = iota
	// Terminal: nobody, until the object changes, at the next resync or a swap.
	Terminal
	// Denied refuses the request (admission).
	Denied
)

// Error is why a call could not answer.
type Error struct {
	Class   Class
	Message string
	// DelayMS, of a transient error: milliseconds from now. Nil: the key's own backoff.
	DelayMS *uint64
	// Code and Reason, of a denial.
	Code   uint16
	Reason string
}

// Error is its message.
func (e *Error) Error() string { return e.Message }

// Observation is the world as it is, and what to say about it.
type Observation struct {
	// State and Status are JSON. Nil: none.
	State, Status *string
	// RequeueAfterMS: look again although nothing changed.
	RequeueAfterMS *uint64
}

// ObjectRef is one object of one kind.
type ObjectRef struct {
	Kind Kind
	Key  Key
}

// Precondition refuses a change when the object has another uid or resource version by now. Nil: no condition.
type Precondition struct{ UID, ResourceVersion *string }

// PatchType is how a patch is written.
type PatchType uint8

// How a patch is written.
const (
	JSONPatch PatchType = iota
	MergePatch
	StrategicMergePatch
)

// Propagation says what becomes of what a deleted object owns.
type Propagation uint8

// What becomes of what a deleted object owns.
const (
	Background Propagation = iota
	Foreground
	Orphan
)

// Change is what the host is to do: an *ApplyChange, a *CreateChange, a *PatchChange or a *DeleteChange.
type Change interface{ change() }

// ApplyChange is a server-side apply.
type ApplyChange struct {
	Object, Subresource string
	Force               bool
	Precondition        Precondition
}

// CreateChange creates an object.
type CreateChange struct{ Object string }

// PatchChange patches an existing object. Target nil: the object under review (admission).
type PatchChange struct {
	Target             *ObjectRef
	Type               PatchType
	Patch, Subresource string
	Precondition       Precondition
}

// DeleteChange deletes an object.
type DeleteChange struct {
	Target       ObjectRef
	Propagation  Propagation
	Precondition Precondition
}

func (*ApplyChange) change()  {}
func (*CreateChange) change() {}
func (*PatchChange) change()  {}
func (*DeleteChange) change() {}

// Event is a Kubernetes Event on the primary object.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Outcome is what Patch answers.
type Outcome struct {
	Changes        []Change
	Events         []Event
	Warnings       []string
	RequeueAfterMS *uint64
}

// Plugin is what a plugin exports. Errors are of type *Error; any other is a transient one.
type Plugin interface {
	Describe() string
	GetDesired(*Request) (*string, error)
	GetActual(*Request) (*Observation, error)
	Patch(request *Request, desired, actual *string) (*Outcome, error)
}

// Converter is what a plugin that converts exports beside that: an object as JSON in another API version. The error is for the user.
type Converter func(object, desired string) (string, error)

// ListOptions says which objects to list.
type ListOptions struct {
	// Namespace; empty: all.
	Namespace string
	// LabelSelector in the notation of kubectl -l; empty: all.
	LabelSelector string
	// OwnerUID: only objects with an owner reference to it; empty: all.
	OwnerUID string
	// Limit is the most objects to answer. 0: all.
	Limit uint32
}

// Header is one header of HTTP.
type Header struct{ Name, Value string }

// Outgoing is an HTTP request.
type Outgoing struct {
	Method, URL string
	Headers     []Header
	Body        []byte
	// TimeoutMS is for the whole exchange. 0: what is left of the reconcile's deadline.
	TimeoutMS uint32
}

// Response is what a server answered.
type Response struct {
	Status  uint16
	Headers []Header
	Body    []byte
}

// FailureClass is why there is no answer to an HTTP request.
type FailureClass uint8

// Why there is no answer.
const (
	RequestDenied FailureClass = iota
	Unreachable
	TimedOut
	TooLarge
	Invalid
)

// Failure is an HTTP request without an answer.
type Failure struct {
	Class   FailureClass
	Message string
	// Limit in bytes, of an answer that is too large.
	Limit uint64
}

// Error says what happened.
func (f *Failure) Error() string {
	switch f.Class {
	case RequestDenied:
		return "request denied: " + f.Message
	case Unreachable:
		return "unreachable: " + f.Message
	case TimedOut:
		return "no answer in time"
	case TooLarge:
		return fmt.Sprintf("the answer is larger than %d bytes", f.Limit)
	}
	return "the request makes no sense: " + f.Message
}

// Level says how grave a log line is.
type Level uint8

// How grave a log line is.
const (
	Debug Level = iota
	Info
	Warn
	ErrorLevel
)

// Host is what the host lends. Errors are of type *Error, those of Send of type *Failure.
type Host interface {
	GetObject(Kind, Key) (*string, error)
	GetApplied(Kind, Key) (*string, error)
	GetLive(Kind, Key) (*string, error)
	ListObjects(Kind, ListOptions) ([]string, error)
	ListIndexed(kind Kind, index, value string, options ListOptions) ([]string, error)
	CreateTwoWay(kind Kind, original, modified string) (string, error)
	CreateThreeWay(kind Kind, original, modified, current string) (string, error)
	ApplyPatch(kind Kind, original, patch string) (string, error)
	Send(*Outgoing) (*Response, error)
	CacheGet(key string) ([]byte, bool)
	CacheSet(key string, value []byte, ttlMS uint64)
	ConfigGet(key string) (string, bool)
	ConfigKeys() []string
	Log(level Level, message string, fields [][2]string)
}
