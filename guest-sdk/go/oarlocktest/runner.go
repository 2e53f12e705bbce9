// Package oarlocktest runs a reconciler in plain unit tests, as the host would: oarlocktest.New(plugin, object).Reconcile().
//
// The world is small and in memory: objects, applied documents, a cache with a clock, HTTP as the test answers it. It refuses what the host
// would refuse (kinds and origins the manifest does not ask for, writes in a dry run). It is no API server: no schemas, no defaults, no
// admission by others, no conflicts between field managers; lists are applied as a whole. Strategic merge is the host's: `oarlock test` runs
// the built plugin with it.
package oarlocktest

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"oarlock.dev/oarlock"
	"oarlock.dev/oarlock/abi"
)

// Object is a document as JSON has it, with numbers of type json.Number.
type Object = oarlock.Object

// Report is what one reconcile did.
type Report struct {
	// Desired is the state the object asked for, Before and After are those the world was in before and after the patch; the same when
	// nothing was patched. Nil: none.
	Desired, Before, After any
	// Status is what the last observation said about the object.
	Status Object
	// Patched says whether Patch was asked.
	Patched bool
	// Changes are those it answered.
	Changes []oarlock.Change
	// Events are those to write: only of a patch whose changes were carried out.
	Events []oarlock.Event
	// Warnings are for the user (admission).
	Warnings []string
	// Err is what ended the reconcile early. A panic is a fault of the reconciler, and goes on in the test.
	Err error
	// RequeueAfter is the earliest time the plugin asked to look again. 0: none.
	RequeueAfter time.Duration
	// Requests were sent, in order.
	Requests []*abi.Outgoing
	// Log has the lines that were logged through slog.
	Log []Line
	// Gone says whether the object exists no more: its finalizer was let go.
	Gone bool
}

// Line is one line of the log.
type Line struct {
	Level   abi.Level
	Message string
	Fields  map[string]string
}

// InSync is no error, and nothing left to do.
func (r *Report) InSync() bool { return r.Err == nil && Same(r.Desired, r.After) }

// EventLines are "Normal Synced: message" for each event.
func (r *Report) EventLines() []string {
	var lines []string
	for _, event := range r.Events {
		severity := "Normal"
		if event.Warning {
			severity = "Warning"
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", severity, event.Reason, event.Message))
	}
	return lines
}

// Applied are the documents of its applies.
func (r *Report) Applied() []Object {
	var documents []Object
	for _, change := range r.Changes {
		if apply, ok := change.(*abi.ApplyChange); ok {
			documents = append(documents, JSON(apply.Object))
		}
	}
	return documents
}

// Runner runs a reconciler for one object. The world stays between reconciles: objects, cache, clock.
type Runner struct {
	// Config is the plugin's configuration.
	Config map[string]string
	// HTTP answers requests. Nil: nobody does.
	HTTP func(*abi.Outgoing) (*abi.Response, error)
	// DryRun: nothing may change.
	DryRun bool

	plugin   *oarlock.Plugin
	world    *world
	id       id
	uid      string
	lastSeen Object
	attempt  uint32
}

// New is a world with one object: what JSON is made of it. It gets a uid when it has none.
func New(plugin *oarlock.Plugin, object any) *Runner {
	r := &Runner{Config: map[string]string{}, plugin: plugin, attempt: 1}
	r.world = &world{runner: r, objects: map[id]Object{}, applied: map[id]Object{}, cache: map[string]cached{}}
	r.id = r.world.store(toObject(object))
	return r
}

// Put creates or replaces an object, as somebody else would.
func (r *Runner) Put(object any) { r.world.store(toObject(object)) }

// Current is the object as it is. Nil: it is gone.
func (r *Runner) Current() Object { return r.world.objects[r.id] }

// Get is an object of the world. Nil: it does not exist.
func (r *Runner) Get(ref oarlock.Ref) Object { return r.world.objects[idOf(ref)] }

// Remove deletes an object of the world, as somebody else would.
func (r *Runner) Remove(ref oarlock.Ref) { r.world.remove(idOf(ref)) }

// Edit changes the object, as its user would.
func (r *Runner) Edit(change func(Object)) {
	if object := copied(r.Current()); object != nil {
		change(object)
		r.world.store(toObject(object))
	}
}

// Delete deletes the object, as its user would: with a finalizer it stays until that is let go.
func (r *Runner) Delete() {
	if r.plugin.Manifest().Cleanup {
		r.Edit(func(object Object) { object["metadata"].(Object)["deletionTimestamp"] = "2026-01-01T00:00:00Z" })
		return
	}
	r.lastSeen, r.uid = r.Current(), oarlock.Text(r.Current(), "metadata", "uid")
	r.world.remove(r.id)
}

// Logged has the lines of the last reconcile, also of one that panicked.
func (r *Runner) Logged() []Line { return r.world.log }

// Advance lets time pass: values in the cache expire.
func (r *Runner) Advance(by time.Duration) { r.world.now += uint64(by.Milliseconds()) }

// Restart loses what the host kept in memory.
func (r *Runner) Restart() {
	clear(r.world.cache)
	r.attempt = 1
}

// One reconcile at a time: the host that is lent is the program's.
var lending sync.Mutex

// Reconcile is one reconcile.
func (r *Runner) Reconcile() *Report {
	report := &Report{}
	request := r.request()
	r.lent(report, func() { report.Err = r.run(request, report, nil) })
	if report.Err != nil {
		r.attempt++
		return report
	}
	r.attempt = 1
	r.finish(request, report)
	return report
}

// Admit is the admission of an object: review is the AdmissionRequest. It answers the object as it was changed, too.
func (r *Runner) Admit(object, review any) (*Report, Object) {
	report, reviewed := &Report{}, toObject(object)
	request := r.request()
	request.Key = abi.Key{Namespace: oarlock.Text(reviewed, "metadata", "namespace"), Name: oarlock.Text(reviewed, "metadata", "name")}
	request.Kind = oarlock.KindOf(oarlock.Text(reviewed, "apiVersion"), oarlock.Text(reviewed, "kind"))
	request.UID = oarlock.Text(reviewed, "metadata", "uid")
	request.Object, request.Review, request.LastSeen = text(reviewed), text(toObject(review)), nil
	request.Deleting = oarlock.Text(reviewed, "metadata", "deletionTimestamp") != ""
	request.Trigger = abi.TriggerAdmission
	r.lent(report, func() { report.Err = r.run(request, report, &reviewed) })
	return report, reviewed
}

// lent does something while this world is the host.
func (r *Runner) lent(report *Report, work func()) {
	lending.Lock()
	defer lending.Unlock()
	before, logger := abi.Lend(r.world), slog.Default()
	slog.SetDefault(slog.New(oarlock.LogHandler{}))
	defer func() {
		abi.Lend(before)
		slog.SetDefault(logger)
	}()
	r.world.requests, r.world.log = nil, nil
	work()
	report.Requests, report.Log = r.world.requests, r.world.log
}

func (r *Runner) request() *abi.Request {
	object := r.Current()
	request := &abi.Request{
		Kind: r.id.kind, Key: r.id.key, UID: r.uid, Attempt: r.attempt, CorrelationID: "native", DryRun: r.DryRun,
	}
	if r.attempt > 1 {
		request.Trigger = abi.TriggerRetry
	}
	if object == nil {
		request.Deleting = true
		if r.lastSeen != nil {
			request.LastSeen = text(r.lastSeen)
		}
		return request
	}
	r.uid, r.lastSeen = oarlock.Text(object, "metadata", "uid"), object
	request.UID, request.Object = r.uid, text(object)
	request.Deleting = oarlock.Text(object, "metadata", "deletionTimestamp") != ""
	return request
}

// run is the order of a reconcile: desired, actual, and when they differ patch, the changes, and actual again.
func (r *Runner) run(request *abi.Request, report *Report, reviewed *Object) error {
	var desired *string
	if !request.Deleting {
		var err error
		if desired, err = r.plugin.GetDesired(request); err != nil {
			return err
		}
	}
	report.Desired = value(desired)
	actual, err := r.observe(request, report)
	if err != nil {
		return err
	}
	report.Before = report.After
	if Same(report.Desired, report.Before) {
		return nil
	}
	report.Patched = true
	outcome, err := r.plugin.Patch(request, desired, actual)
	if err != nil {
		return err
	}
	report.Changes, report.Warnings = outcome.Changes, outcome.Warnings
	earlier(report, outcome.RequeueAfterMS)
	if request.DryRun {
		return nil
	}
	for _, change := range outcome.Changes {
		if err := r.world.carryOut(change, reviewed); err != nil {
			return err
		}
	}
	report.Events = outcome.Events
	again := *request
	if reviewed != nil {
		again.Object = text(*reviewed)
	}
	_, err = r.observe(&again, report)
	return err
}

func (r *Runner) observe(request *abi.Request, report *Report) (*string, error) {
	observation, err := r.plugin.GetActual(request)
	if err != nil {
		return nil, err
	}
	report.After = value(observation.State)
	report.Status, _ = value(observation.Status).(Object)
	earlier(report, observation.RequeueAfterMS)
	return observation.State, nil
}

// finish is what the host does afterwards: status, and the finalizer of an object that is going.
func (r *Runner) finish(request *abi.Request, report *Report) {
	object := copied(r.Current())
	if object == nil || r.DryRun {
		return
	}
	if report.Status != nil {
		status := mergePatch(object["status"], Object(report.Status))
		if !Same(status, object["status"]) {
			object["status"] = status
			r.world.store(object)
		}
	}
	if request.Deleting && report.After == nil {
		r.lastSeen = object
		r.world.remove(r.id)
		report.Gone = true
	}
}

func earlier(report *Report, ms *uint64) {
	if ms == nil {
		return
	}
	after := time.Duration(*ms) * time.Millisecond
	if report.RequeueAfter == 0 || after < report.RequeueAfter {
		report.RequeueAfter = after
	}
}
