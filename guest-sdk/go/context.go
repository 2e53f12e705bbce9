package oarlock

import "oarlock.dev/oarlock/abi"

// Trigger is the cause of a reconcile, for logs and metrics. The result of a reconcile must not depend on it.
type Trigger = abi.Trigger

// Context is what a reconcile is about: the same for each of its calls.
type Context[O any] struct {
	request *abi.Request
	object  *O
}

// Kind is the object's kind, one of the manifest's primaries.
func (cx *Context[O]) Kind() Kind { return cx.request.Kind }

// Namespace is empty for cluster-scoped kinds.
func (cx *Context[O]) Namespace() string { return cx.request.Key.Namespace }

// Name is the object's name.
func (cx *Context[O]) Name() string { return cx.request.Key.Name }

// Ref names the object.
func (cx *Context[O]) Ref() Ref { return Ref{cx.Kind(), cx.Namespace(), cx.Name()} }

// UID is kept when the object is gone. What is made for the object is marked with it and found by it: a name may come back for another
// object, a uid never does. Empty only at the admission of a create.
func (cx *Context[O]) UID() string { return cx.request.UID }

// Object is the object; when it is gone, its last known state. Where nothing is known of it, the zero value.
func (cx *Context[O]) Object() *O {
	if cx.object == nil {
		text := cx.request.Object
		if text == nil {
			text = cx.request.LastSeen
		}
		if cx.object = parseOption[O]("the object", text); cx.object == nil {
			cx.object = new(O)
		}
	}
	return cx.object
}

// Deleting: the object is being deleted or is gone, and nothing of it should exist.
func (cx *Context[O]) Deleting() bool { return cx.request.Deleting || cx.Gone() }

// Gone: it no longer exists in the cluster.
func (cx *Context[O]) Gone() bool { return cx.request.Object == nil && cx.request.Review == nil }

// Trigger is the cause of this reconcile.
func (cx *Context[O]) Trigger() Trigger { return cx.request.Trigger }

// Attempt is the number of this attempt; 1 is the first since the last success.
func (cx *Context[O]) Attempt() int { return int(cx.request.Attempt) }

// CorrelationID is an id that the log lines, events and requests of one reconcile share.
func (cx *Context[O]) CorrelationID() string { return cx.request.CorrelationID }

// DryRun: nothing may change; requests other than GET, HEAD and granted safe ones are refused.
func (cx *Context[O]) DryRun() bool { return cx.request.DryRun }

// Review is the AdmissionRequest as the API server sent it, plus pending initializers. Nil in a reconcile.
func (cx *Context[O]) Review() Object {
	review := parseOption[Object]("the review", cx.request.Review)
	if review == nil {
		return nil
	}
	return *review
}

// OwnerReference makes an object the controller of another, which goes when it goes: an entry for metadata.ownerReferences.
type OwnerReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// OwnerReference makes this object the owner.
func (cx *Context[O]) OwnerReference() OwnerReference {
	return OwnerReference{APIVersion(cx.Kind()), cx.Kind().Kind, cx.Name(), cx.UID(), true}
}
