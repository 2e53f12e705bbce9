package main

import (
	"testing"

	"oarlock.dev/oarlock"
	"oarlock.dev/oarlock/oarlocktest"
)

func anObject() oarlock.Object {
	return oarlock.Object{
		"apiVersion": "{{api_version}}", "kind": "{{kind}}",
		"metadata": oarlock.Object{"name": "a"{{namespace_json}}}{{fields_go}},
	}
}

func greeting(runner *oarlocktest.Runner) string {
	return oarlock.Text(runner.Current(), "metadata", "annotations", annotation)
}

func TestTheGreetingIsWrittenOnce(t *testing.T) {
	runner := oarlocktest.New(plugin, anObject())
	if report := runner.Reconcile(); !report.InSync() {
		t.Fatalf("%+v", report)
	}
	if got := greeting(runner); got != "Hello, a" {
		t.Fatal(got)
	}
	// Nothing is left to do: nothing is written.
	if runner.Reconcile().Patched {
		t.Fatal("written again")
	}
}

func TestTheConfigurationHasTheWord(t *testing.T) {
	runner := oarlocktest.New(plugin, anObject())
	runner.Config["greeting"] = "Hi"
	runner.Reconcile()
	if got := greeting(runner); got != "Hi, a" {
		t.Fatal(got)
	}
}

func TestAConfigMapOfTheNamespaceOverridesTheWord(t *testing.T) {
	runner := oarlocktest.New(plugin, anObject())
	runner.Reconcile()
	runner.Put(oarlock.Object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": oarlock.Object{"name": "greeting"{{namespace_json}}}, "data": oarlock.Object{"greeting": "Welcome"},
	})
	runner.Reconcile()
	if got := greeting(runner); got != "Welcome, a" {
		t.Fatal(got)
	}
}

func TestSomebodyElsesGreetingIsReplaced(t *testing.T) {
	runner := oarlocktest.New(plugin, anObject())
	runner.Edit(func(live oarlock.Object) {
		live["metadata"].(oarlock.Object)["annotations"] = oarlock.Object{annotation: "Go away", "other": "stays"}
	})
	if report := runner.Reconcile(); !report.InSync() {
		t.Fatalf("%+v", report)
	}
	if got := greeting(runner); got != "Hello, a" {
		t.Fatal(got)
	}
	if got := oarlock.Text(runner.Current(), "metadata", "annotations", "other"); got != "stays" {
		t.Fatal(got)
	}
}

func TestAnObjectThatIsGoingIsLeftAlone(t *testing.T) {
	runner := oarlocktest.New(plugin, anObject())
	runner.Edit(func(live oarlock.Object) {
		live["metadata"].(oarlock.Object)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	})
	if runner.Reconcile().Patched {
		t.Fatal("patched")
	}
}
