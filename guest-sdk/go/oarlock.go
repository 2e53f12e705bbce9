// Package oarlock is for Oarlock reconcilers in Go. A plugin answers three questions about one object at a time: what is desired, what is
// actual, and which patch moves one to the other. The host owns the rest: watches, the queue, retries, status, events and finalizers.
package oarlock

import (
	"encoding/json"
	"fmt"
	"strings"

	"oarlock.dev/oarlock/abi"
)

// Object is a document as JSON has it. Numbers in it are of type json.Number, so that none loses digits.
type Object = map[string]any

// Reconciler is what a plugin does. O is the shape of the primary object: a struct with the fields it reads, one of k8s.io/api, or Object.
// S is the shape of the states, which are compared as JSON.
//
// An error of this package says who tries again; any other is tried again with backoff. A panic is a fault of the plugin: it is logged with
// its trace, tried again, and counted.
type Reconciler[O, S any] interface {
	// Desired is the state the object asks for. Nil: nothing should exist. The host does not call it when the object
	// is being deleted or is gone.
	Desired(cx *Context[O]) (*S, error)
	// Actual is the state the world is in. Asked again after a patch.
	Actual(cx *Context[O]) (Observation[S], error)
	// Patch moves actual to desired: changes in Kubernetes are answered, and carried out by the host; effects elsewhere happen here. A
	// crash may come after each of them: look for what is there before making something new.
	Patch(cx *Context[O], desired, actual *S) (*Outcome, error)
}

// Plugin is a reconciler with its manifest.
type Plugin struct {
	manifest Manifest
	abi.Plugin
	prepare func()
}

// New puts a manifest and a reconciler together.
func New[O, S any](manifest Manifest, reconciler Reconciler[O, S]) *Plugin {
	adapter := &adapter[O, S]{manifest, reconciler}
	return &Plugin{manifest, adapter, adapter.prepare}
}

// Export makes p what the component exports. Call it once, from an init function: the main function of a component is not run.
func Export(p *Plugin) {
	abi.Export(p)
	abi.Prepare(p.prepare)
}

// Manifest is what the plugin is and asks for.
func (p *Plugin) Manifest() Manifest { return p.manifest }

// Kind names a kind of document: group, version and kind.
type Kind = abi.Kind

// KindOf names a kind by its apiVersion: KindOf("apps/v1", "Deployment").
func KindOf(apiVersion, kind string) Kind {
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group, version = "", apiVersion
	}
	return Kind{Group: group, Version: version, Kind: kind}
}

// APIVersion is the apiVersion of a kind's documents.
func APIVersion(kind Kind) string {
	if kind.Group == "" {
		return kind.Version
	}
	return kind.Group + "/" + kind.Version
}

// Ref names one object.
type Ref struct {
	Kind Kind
	// Namespace is empty for cluster-scoped kinds.
	Namespace, Name string
}

func (r Ref) key() abi.Key { return abi.Key{Namespace: r.Namespace, Name: r.Name} }

// Text is the string at a place in a document: Text(object, "metadata", "labels", "team"). Empty where there is none.
func Text(document any, path ...string) string {
	for _, name := range path {
		fields, _ := document.(Object)
		document = fields[name]
	}
	text, _ := document.(string)
	return text
}

// host is the host, or a panic that says that there is none.
func host() abi.Host {
	if host := abi.Current(); host != nil {
		return host
	}
	panic("oarlock: there is no host here: only Desired, Actual and Patch may ask it, in a component or under oarlocktest")
}

// parse reads JSON without a loss.
func parse(text string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// parseOption reads JSON, or nothing.
func parseOption[T any](what string, text *string) *T {
	if text == nil {
		return nil
	}
	into := new(T)
	if err := parse(*text, into); err != nil {
		panic(fmt.Sprintf("oarlock: %s does not fit %T: %v", what, *into, err))
	}
	return into
}

// document is a value as JSON. One that is no JSON is a fault of the plugin.
func document(what string, value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("oarlock: %s is not JSON: %v", what, err))
	}
	return string(text)
}

// objectDocument is a value as JSON that must be an object.
func objectDocument(what string, value any) string {
	text := document(what, value)
	if !strings.HasPrefix(text, "{") {
		panic(fmt.Sprintf("oarlock: %s is not a JSON object: %.80s", what, text))
	}
	return text
}
