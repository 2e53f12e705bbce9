package conversion_test

import (
	"errors"
	"strings"
	"testing"

	"oarlock.dev/oarlock"
	"oarlock.dev/oarlock/conversion"
	"oarlock.dev/oarlock/oarlocktest"
)

func thing() oarlock.Object {
	return oarlocktest.JSON(`{"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": {"name": "a", "namespace": "b", "uid": "u"}, "spec": {"size": 9007199254740993}}`)
}

func TestWhatIsKeptIsRestoredAndLeavesNoTrace(t *testing.T) {
	object := thing()
	kept := oarlocktest.JSON(`{"a": [9007199254740993, "\""]}`)
	conversion.Keep(object, "example.com/x", kept)
	if oarlock.Text(object, "metadata", "annotations", "example.com/x") != `{"a":[9007199254740993,"\""]}` {
		t.Fatal(object)
	}
	if restored, err := conversion.Restore(object, "example.com/x"); err != nil || !oarlocktest.Same(restored, kept) {
		t.Fatal(restored, err)
	}
	if restored, err := conversion.Restore(object, "example.com/x"); err != nil || restored != nil {
		t.Fatal(restored, err)
	}
	conversion.Keep(object, "example.com/x", nil)
	if !oarlocktest.Same(object, thing()) {
		t.Fatal(object)
	}
	object["metadata"].(oarlock.Object)["annotations"] = oarlock.Object{"example.com/x": "{", "other": "1"}
	if _, err := conversion.Restore(object, "example.com/x"); err == nil || !strings.Contains(err.Error(), "annotation example.com/x is not JSON") {
		t.Fatal(err)
	}
}

func TestAnObjectIsConvertedAndTheOneThatWasGivenStays(t *testing.T) {
	given := thing()
	converted, err := oarlocktest.Convert(func(object oarlock.Object, desired string) (oarlock.Object, error) {
		object["apiVersion"] = desired
		return object, nil
	}, given, "example.com/v2")
	if err != nil || oarlock.Text(converted, "apiVersion") != "example.com/v2" || !oarlocktest.Same(given, thing()) {
		t.Fatal(converted, given, err)
	}
}

func TestAnAnswerThatTheHostRefusesIsAnError(t *testing.T) {
	odd := errors.New("spec.size is odd")
	for reason, convert := range map[string]conversion.Converter{
		"spec.size is odd": func(oarlock.Object, string) (oarlock.Object, error) { return nil, odd },
		`apiVersion "example.com/v1" instead of "example.com/v2"`: func(object oarlock.Object, _ string) (oarlock.Object, error) { return object, nil },
		"another uid than the object has": func(object oarlock.Object, desired string) (oarlock.Object, error) {
			object["apiVersion"] = desired
			delete(object["metadata"].(oarlock.Object), "uid")
			return object, nil
		},
	} {
		if _, err := oarlocktest.Convert(convert, thing(), "example.com/v2"); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v", reason, err)
		}
	}
}
