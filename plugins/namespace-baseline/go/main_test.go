package main

import (
	"slices"
	"testing"

	"oarlock.dev/oarlock"
	"oarlock.dev/oarlock/oarlocktest"
)

func object(labels, annotations oarlock.Object) oarlock.Object {
	return oarlock.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": oarlock.Object{
		"name": "shop", "uid": "u1", "labels": labels, "annotations": annotations,
	}}
}

func on(annotations oarlock.Object) *oarlocktest.Runner {
	return oarlocktest.New(plugin, object(oarlock.Object{"oarlock.dev/baseline": "true"}, annotations))
}

var (
	quota  = oarlock.Ref{Kind: quotaKind, Namespace: "shop", Name: "baseline"}
	policy = oarlock.Ref{Kind: policyKind, Namespace: "shop", Name: "default-deny"}
)

func inSync(t *testing.T, report *oarlocktest.Report) {
	t.Helper()
	if !report.InSync() {
		t.Fatalf("not in sync: %+v", report)
	}
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if !oarlocktest.Same(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestANamespaceThatAsksForItGetsBothDocuments(t *testing.T) {
	runner := on(nil)
	report := runner.Reconcile()
	inSync(t, report)
	owner := `{"apiVersion":"v1","kind":"Namespace","name":"shop","uid":"u1","controller":true}`
	same(t, report.Applied(), []any{
		oarlocktest.JSON(`{"apiVersion":"v1","kind":"ResourceQuota",
			"metadata":{"name":"baseline","namespace":"shop","ownerReferences":[` + owner + `]},
			"spec":{"hard":{"pods":"50","requests.cpu":"10","requests.memory":"20Gi"}}}`),
		oarlocktest.JSON(`{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy",
			"metadata":{"name":"default-deny","namespace":"shop","ownerReferences":[` + owner + `]},
			"spec":{"podSelector":{},"policyTypes":["Ingress"]}}`),
	})
	same(t, report.EventLines(), []any{"Normal BaselineWritten: quota baseline and network policy default-deny written"})
	if runner.Reconcile().Patched {
		t.Fatal("written again")
	}
}

func TestANamespaceThatDoesNotAskIsLeftAlone(t *testing.T) {
	for _, value := range []string{"false", "True", ""} {
		report := oarlocktest.New(plugin, object(oarlock.Object{"oarlock.dev/baseline": value}, nil)).Reconcile()
		inSync(t, report)
		if report.Patched {
			t.Fatalf("%q: %+v", value, report)
		}
	}
}

func TestOnlyWhatDiffersIsApplied(t *testing.T) {
	runner := on(nil)
	runner.Reconcile()
	runner.Remove(policy)
	report := runner.Reconcile()
	inSync(t, report)
	if applied := report.Applied(); len(applied) != 1 || applied[0]["kind"] != "NetworkPolicy" {
		t.Fatal(applied)
	}
}

func TestAnAnnotationReplacesTheQuotaOfItsNamespace(t *testing.T) {
	runner := on(oarlock.Object{quotaAnnotation: `{"pods": "5"}`})
	inSync(t, runner.Reconcile())
	same(t, runner.Get(quota)["spec"], oarlocktest.JSON(`{"hard": {"pods": "5"}}`))
}

func TestAnAnnotationThatMakesNoSenseIsNamed(t *testing.T) {
	for _, text := range []string{"", "5", "null", "[]", `["pods"]`, `{"pods": 5}`, `{"pods": null}`, `{"pods": "5"`} {
		err := on(oarlock.Object{quotaAnnotation: text}).Reconcile().Err
		if !oarlock.IsTerminal(err) || err.Error() != "annotation baseline.oarlock.dev/quota is not a JSON object of strings" {
			t.Fatalf("%q: %v", text, err)
		}
	}
}

func TestTheConfigurationSetsLabelQuotaAndEgress(t *testing.T) {
	runner := oarlocktest.New(plugin, object(oarlock.Object{"example.com/limited": "true"}, nil))
	runner.Config = map[string]string{"label": "example.com/limited", "quota": `{"services":"3"}`, "denyEgress": "true"}
	inSync(t, runner.Reconcile())
	same(t, runner.Get(quota)["spec"], oarlocktest.JSON(`{"hard": {"services": "3"}}`))
	same(t, runner.Get(policy)["spec"].(oarlock.Object)["policyTypes"], []any{"Ingress", "Egress"})

	nonsense := on(nil)
	nonsense.Config["quota"] = "50"
	if err := nonsense.Reconcile().Err; err == nil || err.Error() != "config quota is not a JSON object of strings" {
		t.Fatal(err)
	}
}

func TestWithoutTheLabelBothDocumentsGo(t *testing.T) {
	runner := on(nil)
	runner.Reconcile()
	runner.Edit(func(live oarlock.Object) { live["metadata"].(oarlock.Object)["labels"] = nil })
	report := runner.Reconcile()
	inSync(t, report)
	told := []string{"Normal BaselineRemoved: quota baseline and network policy default-deny removed"}
	if !slices.Equal(report.EventLines(), told) || runner.Get(quota) != nil || runner.Get(policy) != nil {
		t.Fatalf("%+v", report)
	}
}

func TestANamespaceThatGoesTakesEverythingWithIt(t *testing.T) {
	runner := on(nil)
	runner.Reconcile()
	runner.Edit(func(live oarlock.Object) {
		live["metadata"].(oarlock.Object)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	})
	if runner.Reconcile().Patched {
		t.Fatal("patched while going")
	}
	runner.Delete()
	if runner.Reconcile().Patched {
		t.Fatal("patched when gone")
	}
}
