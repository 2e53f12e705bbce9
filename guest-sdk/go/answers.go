package oarlock

import (
	"fmt"
	"time"

	"oarlock.dev/oarlock/abi"
)

// Observation is the world as it is, and what to say about it.
type Observation[S any] struct {
	// State is what exists. Nil: nothing does.
	State *S
	// Status has fields of the object's status, as a JSON object. Written only where they differ from what is stored; fields written
	// before that are not among them are taken away. Nil: no fields.
	Status any
	// RequeueAfter: look again although nothing changed, because something is still building. At most a day. 0: do not.
	RequeueAfter time.Duration
}

// Change is what the host is to do.
type Change = abi.Change

// Event is a Kubernetes Event on the object.
type Event = abi.Event

// PatchType is how a patch is written.
type PatchType = abi.PatchType

// How a patch is written.
const (
	JSONPatch           = abi.JSONPatch
	MergePatch          = abi.MergePatch
	StrategicMergePatch = abi.StrategicMergePatch
)

// Outcome is what the host is to do: changes in order, then events, and when to look again. The zero value does nothing.
type Outcome struct {
	// Changes are checked against the grant, then carried out in order; the first failure ends the list.
	Changes []Change
	// Events are written after the changes were carried out. Equal ones are counted, not repeated.
	Events []Event
	// Warnings are for the user who sent the request (admission only).
	Warnings []string
	// RequeueAfter is as in Observation; of both the earlier counts.
	RequeueAfter time.Duration
}

// Option changes how a change is made.
type Option func(*options)

type options struct {
	force        bool
	subresource  string
	precondition abi.Precondition
	propagation  abi.Propagation
}

// Force takes fields over from other field managers (apply). Without it a conflict is a warning event and a slow retry.
func Force() Option { return func(o *options) { o.force = true } }

// Subresource changes a subresource: status and the like (apply, patch).
func Subresource(name string) Option { return func(o *options) { o.subresource = name } }

// IfUID refuses the change of an object with another uid.
func IfUID(uid string) Option { return func(o *options) { o.precondition.UID = &uid } }

// IfResourceVersion refuses the change of an object that was changed since.
func IfResourceVersion(version string) Option {
	return func(o *options) { o.precondition.ResourceVersion = &version }
}

// Foreground deletes what the object owns first (delete).
func Foreground() Option { return func(o *options) { o.propagation = abi.Foreground } }

// Orphan leaves what the object owns (delete).
func Orphan() Option { return func(o *options) { o.propagation = abi.Orphan } }

func chosen(all []Option) options {
	var o options
	for _, option := range all {
		option(&o)
	}
	return o
}

// Apply is a server-side apply of a document with apiVersion, kind, metadata.name, and metadata.namespace for namespaced kinds: the whole of
// what this plugin wants of the object. What it wanted before and left out now is removed.
func (o *Outcome) Apply(object any, how ...Option) *Outcome {
	with := chosen(how)
	return o.add(&abi.ApplyChange{
		Object: objectDocument("a document to apply", object), Subresource: with.subresource, Force: with.force, Precondition: with.precondition,
	})
}

// Create creates an object; that it exists already is a failure.
func (o *Outcome) Create(object any) *Outcome {
	return o.add(&abi.CreateChange{Object: objectDocument("a document to create", object)})
}

// Patch patches an existing object.
func (o *Outcome) Patch(target Ref, kind PatchType, patch any, how ...Option) *Outcome {
	return o.patch(&abi.ObjectRef{Kind: target.Kind, Key: target.key()}, kind, patch, how)
}

// PatchReviewed patches the object under review (admission).
func (o *Outcome) PatchReviewed(kind PatchType, patch any) *Outcome {
	return o.patch(nil, kind, patch, nil)
}

func (o *Outcome) patch(target *abi.ObjectRef, kind PatchType, patch any, how []Option) *Outcome {
	with := chosen(how)
	return o.add(&abi.PatchChange{
		Target: target, Type: kind, Patch: document("a patch", patch), Subresource: with.subresource, Precondition: with.precondition,
	})
}

// Delete deletes an object; one that is gone already counts as deleted. What it owns goes in the background.
func (o *Outcome) Delete(target Ref, how ...Option) *Outcome {
	with := chosen(how)
	return o.add(&abi.DeleteChange{
		Target: abi.ObjectRef{Kind: target.Kind, Key: target.key()}, Propagation: with.propagation, Precondition: with.precondition,
	})
}

// Normalf is a Normal event on the object. reason is UpperCamelCase, at most 128 bytes; of the text 1024 are kept.
func (o *Outcome) Normalf(reason, format string, arguments ...any) *Outcome {
	o.Events = append(o.Events, Event{Reason: reason, Message: fmt.Sprintf(format, arguments...)})
	return o
}

// Warningf is a Warning event on the object.
func (o *Outcome) Warningf(reason, format string, arguments ...any) *Outcome {
	o.Events = append(o.Events, Event{Warning: true, Reason: reason, Message: fmt.Sprintf(format, arguments...)})
	return o
}

func (o *Outcome) add(change Change) *Outcome {
	o.Changes = append(o.Changes, change)
	return o
}
