// Keeps a greeting on every {{kind}}.
package main

{{#types}}
import (
	api "example.com/{{name}}/api" // made of crd.yaml: make types
	"oarlock.dev/oarlock"
)
{{/types}}
{{^types}}
import "oarlock.dev/oarlock"
{{/types}}

const annotation = "example.com/greeting"

var plugin = oarlock.New(oarlock.Manifest{
	Name:        "{{name}}",
	Version:     "0.1.0",
	Description: "Keeps a greeting on every {{kind}}",
	Primaries:   []oarlock.Primary{{Kind: oarlock.KindOf("{{api_version}}", "{{kind}}")}},
	// No mapping is needed: the host wakes the objects that read the ConfigMap.
	Watches: []oarlock.Watch{{Kind: oarlock.KindOf("v1", "ConfigMap"), Names: []string{"greeting"}}},
	Permissions: []oarlock.Rule{
		{APIGroups: []string{"{{group}}"}, Resources: []string{"{{plural}}"}, Verbs: []string{"get", "list", "watch", "patch"}},
	},
	Config: map[string]oarlock.Object{
		"greeting": {"type": "string", "description": "The word it greets with. Hello unless set."},
	},
}, {{kind}}Reconciler{})

// What a component does when it starts; its main function is not run.
func init() { oarlock.Export(plugin) }

func main() {}

{{#types}}
// object has the fields that crd.yaml defines.
type object = api.{{kind}}

{{/types}}
{{^types}}
// object has the fields of a {{kind}} that are read. Types of k8s.io/api will do as well.
type object struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

{{/types}}
// configMap has the fields of a ConfigMap that are read.
type configMap struct {
	Data map[string]string `json:"data"`
}

// state is compared: what should be with what is.
type state struct {
	Greeting string `json:"greeting"`
}

// {{kind}}Reconciler reconciles every {{kind}}.
type {{kind}}Reconciler struct{}

// Desired is what should be. Not asked while the object is going: then nothing should.
func ({{kind}}Reconciler) Desired(cx *oarlock.Context[object]) (*state, error) {
	word := oarlock.ConfigOr("greeting", "Hello")
	settings, err := oarlock.Get[configMap](oarlock.Ref{Kind: oarlock.KindOf("v1", "ConfigMap"), Namespace: cx.Namespace(), Name: "greeting"})
	if err != nil {
		return nil, err
	}
	if settings != nil && settings.Data["greeting"] != "" {
		word = settings.Data["greeting"]
	}
	return &state{word + ", " + cx.Name()}, nil
}

// Actual is what is. Read from the cluster and not from cx.Object(), because it is asked again after the patch.
func ({{kind}}Reconciler) Actual(cx *oarlock.Context[object]) (observed oarlock.Observation[state], err error) {
	if cx.Deleting() {
		return observed, nil
	}
	live, err := oarlock.Get[object](cx.Ref())
	if err != nil || live == nil {
		return observed, err
	}
	if greeting, ok := live.Metadata.Annotations[annotation]; ok {
		observed.State = &state{greeting}
	}
	return observed, nil
}

// Patch makes the one of the other. Only asked when they differ; the host carries it out.
func ({{kind}}Reconciler) Patch(cx *oarlock.Context[object], desired, _ *state) (*oarlock.Outcome, error) {
	outcome := &oarlock.Outcome{}
	if desired == nil {
		return outcome, nil
	}
	patch := oarlock.Object{"metadata": oarlock.Object{"annotations": oarlock.Object{annotation: desired.Greeting}}}
	return outcome.Patch(cx.Ref(), oarlock.MergePatch, patch).Normalf("Greeted", "%s", desired.Greeting), nil
}
