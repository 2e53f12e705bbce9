// Gives every Namespace that asks for it, by a label, a ResourceQuota and a NetworkPolicy that denies what is not allowed.
package main

import (
	"encoding/json"
	"reflect"

	"oarlock.dev/oarlock"
)

// What a Namespace has its own quota in.
const quotaAnnotation = "baseline.oarlock.dev/quota"

const defaultQuota = `{"pods":"50","requests.cpu":"10","requests.memory":"20Gi"}`

var (
	quotaKind  = oarlock.KindOf("v1", "ResourceQuota")
	policyKind = oarlock.KindOf("networking.k8s.io/v1", "NetworkPolicy")
	verbs      = []string{"get", "list", "watch", "create", "patch", "delete"}
)

var plugin = oarlock.New(oarlock.Manifest{
	Name:        "namespace-baseline",
	Version:     "0.1.0-go",
	Description: "Gives every Namespace that asks for it a ResourceQuota and a NetworkPolicy",
	Primaries:   []oarlock.Primary{{Kind: oarlock.KindOf("v1", "Namespace")}},
	Watches: []oarlock.Watch{
		{Kind: quotaKind, MapTo: oarlock.ToOwner(), Names: []string{"baseline"}},
		{Kind: policyKind, MapTo: oarlock.ToOwner(), Names: []string{"default-deny"}},
	},
	Permissions: []oarlock.Rule{
		{APIGroups: []string{""}, Resources: []string{"resourcequotas"}, Verbs: verbs},
		{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"networkpolicies"}, Verbs: verbs},
	},
	Config: map[string]oarlock.Object{
		"label":      {"type": "string", "description": "The label that switches it on with the value true"},
		"quota":      {"type": "string", "description": "A JSON object of strings: the hard limits"},
		"denyEgress": {"type": "string", "enum": []string{"true", "false"}},
	},
	ResyncSeconds: 300,
}, baseline{})

func init() { oarlock.Export(plugin) }

func main() {}

// namespace has the fields of a Namespace that are read.
type namespace struct {
	Metadata struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// state has the documents as they are applied. Of the actual state one may be missing.
type state struct {
	Quota         *oarlock.Object `json:"quota,omitempty"`
	NetworkPolicy *oarlock.Object `json:"networkPolicy,omitempty"`
}

type baseline struct{}

func (baseline) Desired(cx *oarlock.Context[namespace]) (*state, error) {
	metadata := cx.Object().Metadata
	if metadata.Labels[oarlock.ConfigOr("label", "oarlock.dev/baseline")] != "true" {
		return nil, nil
	}
	text, place := oarlock.ConfigOr("quota", defaultQuota), "config quota"
	if own, ok := metadata.Annotations[quotaAnnotation]; ok {
		text, place = own, "annotation "+quotaAnnotation
	}
	hard, err := quantities(text, place)
	if err != nil {
		return nil, err
	}
	policyTypes := []string{"Ingress"}
	if oarlock.ConfigOr("denyEgress", "false") == "true" {
		policyTypes = append(policyTypes, "Egress")
	}
	return &state{
		document(cx, quotaRef(cx), oarlock.Object{"hard": hard}),
		document(cx, policyRef(cx), oarlock.Object{"podSelector": oarlock.Object{}, "policyTypes": policyTypes}),
	}, nil
}

func (baseline) Actual(cx *oarlock.Context[namespace]) (oarlock.Observation[state], error) {
	var observed oarlock.Observation[state]
	// Everything in a Namespace goes with it.
	if cx.Deleting() {
		return observed, nil
	}
	quota, err := oarlock.GetApplied[oarlock.Object](quotaRef(cx))
	if err != nil {
		return observed, err
	}
	policy, err := oarlock.GetApplied[oarlock.Object](policyRef(cx))
	if err != nil {
		return observed, err
	}
	if quota != nil || policy != nil {
		observed.State = &state{quota, policy}
	}
	return observed, nil
}

func (baseline) Patch(cx *oarlock.Context[namespace], desired, actual *state) (*oarlock.Outcome, error) {
	const both = "quota baseline and network policy default-deny"
	on := desired != nil
	if desired == nil {
		desired = &state{}
	}
	if actual == nil {
		actual = &state{}
	}
	outcome, applied := &oarlock.Outcome{}, false
	for _, part := range []struct {
		ref             oarlock.Ref
		desired, actual *oarlock.Object
	}{
		{quotaRef(cx), desired.Quota, actual.Quota},
		{policyRef(cx), desired.NetworkPolicy, actual.NetworkPolicy},
	} {
		switch {
		case part.desired != nil && !reflect.DeepEqual(part.desired, part.actual):
			outcome.Apply(part.desired)
			applied = true
		case part.desired == nil && part.actual != nil:
			outcome.Delete(part.ref)
		}
	}
	switch {
	case applied:
		outcome.Normalf("BaselineWritten", both+" written")
	case !on:
		outcome.Normalf("BaselineRemoved", both+" removed")
	}
	return outcome, nil
}

func quotaRef(cx *oarlock.Context[namespace]) oarlock.Ref {
	return oarlock.Ref{Kind: quotaKind, Namespace: cx.Name(), Name: "baseline"}
}

func policyRef(cx *oarlock.Context[namespace]) oarlock.Ref {
	return oarlock.Ref{Kind: policyKind, Namespace: cx.Name(), Name: "default-deny"}
}

func document(cx *oarlock.Context[namespace], ref oarlock.Ref, spec oarlock.Object) *oarlock.Object {
	return &oarlock.Object{
		"apiVersion": oarlock.APIVersion(ref.Kind),
		"kind":       ref.Kind.Kind,
		"metadata": oarlock.Object{
			"name": ref.Name, "namespace": ref.Namespace, "ownerReferences": []any{cx.OwnerReference()},
		},
		"spec": spec,
	}
}

// quantities is a JSON object whose values are strings.
func quantities(text, place string) (map[string]string, error) {
	// Of null, and of a value that is null, Go would make an empty one.
	var found map[string]*string
	err := json.Unmarshal([]byte(text), &found)
	hard := map[string]string{}
	for name, value := range found {
		if value == nil {
			found = nil
			break
		}
		hard[name] = *value
	}
	if err != nil || found == nil {
		return nil, oarlock.Terminalf("%s is not a JSON object of strings", place)
	}
	return hard, nil
}
