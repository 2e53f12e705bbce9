package oarlock_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock.dev/oarlock"
	"oarlock.dev/oarlock/abi"
	"oarlock.dev/oarlock/oarlockhttp"
	"oarlock.dev/oarlock/oarlocktest"
)

type cx = oarlock.Context[oarlock.Object]

// does is a reconciler of three functions; what is not given answers nothing.
type does struct {
	desired func(*cx) (*oarlock.Object, error)
	actual  func(*cx) (oarlock.Observation[oarlock.Object], error)
	patch   func(*cx) (*oarlock.Outcome, error)
}

func (d does) Desired(c *cx) (*oarlock.Object, error) {
	if d.desired == nil {
		return nil, nil
	}
	return d.desired(c)
}

func (d does) Actual(c *cx) (oarlock.Observation[oarlock.Object], error) {
	if d.actual == nil {
		return oarlock.Observation[oarlock.Object]{}, nil
	}
	return d.actual(c)
}

func (d does) Patch(c *cx, _, _ *oarlock.Object) (*oarlock.Outcome, error) {
	if d.patch == nil {
		return nil, nil
	}
	return d.patch(c)
}

var (
	configMap = oarlock.KindOf("v1", "ConfigMap")
	manifest  = oarlock.Manifest{
		Name: "tested", Version: "1", Primaries: []oarlock.Primary{{Kind: configMap}},
		Indexes: []oarlock.Index{
			{Name: "by-user", Kind: configMap, JSONPath: "{.spec.users[*]['id']}"},
			{Name: "by-first", Kind: configMap, JSONPath: ".spec.users[0].id"},
			{Name: "by-x", Kind: configMap, Label: "x"},
		},
		HTTP: &oarlock.HTTPAccess{Origins: []string{"http://a.example.com"}},
	}
)

func run(d does) *oarlocktest.Runner {
	return oarlocktest.New(oarlock.New(manifest, d), oarlocktest.JSON(`{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": {"name": "a", "namespace": "default", "labels": {"x": "1"}}, "data": {"n": "1"}, "large": 9007199254740993}`))
}

func TestTheManifestIsThatOfTheSchema(t *testing.T) {
	full := oarlock.Manifest{
		Name: "full", Version: "1", Primaries: []oarlock.Primary{{Kind: oarlock.KindOf("apps/v1", "Deployment"), LabelSelector: "a=b"}},
		Watches:        []oarlock.Watch{{Kind: configMap, MapTo: oarlock.ToLabel("x"), Names: []string{"n"}}},
		Indexes:        []oarlock.Index{{Name: "by-user", Kind: configMap, JSONPath: ".data.user"}, {Name: "by-x", Kind: configMap, Label: "x"}},
		Config:         map[string]oarlock.Object{"k": {"type": "string"}},
		RequiredConfig: []string{"k"},
		Cleanup:        true,
		Conversions:    []string{"things.example.com"},
	}
	told := oarlocktest.JSON(oarlock.New(full, does{}).Describe())
	want := oarlocktest.JSON(`{"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "full", "version": "1", "cleanup": true,
		"conversions": ["things.example.com"],
		"primaries": [{"group": "apps", "version": "v1", "kind": "Deployment", "labelSelector": "a=b"}],
		"watches": [{"version": "v1", "kind": "ConfigMap", "mapTo": {"type": "label", "key": "x"}, "names": ["n"]}],
		"indexes": [{"name": "by-user", "version": "v1", "kind": "ConfigMap", "jsonPath": ".data.user"},
			{"name": "by-x", "version": "v1", "kind": "ConfigMap", "label": "x"}],
		"config": {"type": "object", "additionalProperties": false, "properties": {"k": {"type": "string"}}, "required": ["k"]}}`)
	if !oarlocktest.Same(told, want) {
		t.Fatalf("%v", told)
	}
}

func TestAWatchWithoutAMappingHasNoMapTo(t *testing.T) {
	reads := oarlock.Manifest{Name: "reads", Version: "1", Watches: []oarlock.Watch{{Kind: configMap}}}
	told := oarlocktest.JSON(oarlock.New(reads, does{}).Describe())
	if want := oarlocktest.JSON(`{"watches": [{"version": "v1", "kind": "ConfigMap"}]}`); !oarlocktest.Same(told["watches"], want["watches"]) {
		t.Fatalf("%v", told)
	}
}

func TestErrorsSayWhoTriesAgain(t *testing.T) {
	cause := errors.New("cause")
	for _, one := range []struct {
		err                 error
		transient, terminal bool
		text                string
	}{
		{cause, true, false, "cause"},
		{oarlock.Transientf("a %w", cause), true, false, "a cause"},
		{oarlock.Terminalf("a %w", cause), false, true, "a cause"},
		{fmt.Errorf("around: %w", oarlock.Terminalf("a")), false, true, "around: a"},
		{oarlock.Deniedf("no"), false, false, "no"},
	} {
		told := run(does{desired: func(*cx) (*oarlock.Object, error) { return nil, one.err }}).Reconcile().Err
		if oarlock.IsTransient(told) != one.transient || oarlock.IsTerminal(told) != one.terminal || told.Error() != one.text {
			t.Errorf("%v: %v", one, told)
		}
	}
	if !errors.Is(oarlock.Terminalf("a %w", cause), cause) {
		t.Error("the cause is lost")
	}
	for delay, want := range map[time.Duration]time.Duration{time.Microsecond: time.Millisecond, 0: 0, 2 * time.Second: 2 * time.Second} {
		if after, ok := oarlock.RetryAfter(oarlock.Transientf("a").After(delay)); !ok || after != want {
			t.Errorf("%v: %v", delay, after)
		}
	}
}

func TestAPanicIsLoggedWithItsTraceAndGoesOn(t *testing.T) {
	runner := run(does{desired: func(*cx) (*oarlock.Object, error) { panic("the answer is 42") }})
	var lines []string
	report := func() (reason any) {
		defer func() { reason = recover() }()
		runner.Reconcile()
		return nil
	}()
	for _, line := range runner.Logged() {
		lines = append(lines, line.Message)
	}
	if report != "the answer is 42" || len(lines) != 1 {
		t.Fatal(report, lines)
	}
	if !strings.HasPrefix(lines[0], "panic: the answer is 42\n") || !strings.Contains(lines[0], "oarlock_test.go:") || strings.Contains(lines[0], "adapter") {
		t.Fatal(lines[0])
	}
}

func TestAStateThatIsNoJSONIsAFault(t *testing.T) {
	defer func() {
		if reason := fmt.Sprint(recover()); !strings.Contains(reason, "the desired state is not JSON") {
			t.Fatal(reason)
		}
	}()
	run(does{desired: func(*cx) (*oarlock.Object, error) { return &oarlock.Object{"f": func() {}}, nil }}).Reconcile()
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	run(does{desired: func(c *cx) (*oarlock.Object, error) {
		if got := fmt.Sprint((*c.Object())["large"]); got != "9007199254740993" {
			t.Error(got)
		}
		return nil, nil
	}}).Reconcile()
}

func TestChangesAreCarriedOutInOrder(t *testing.T) {
	other := oarlock.Ref{Kind: configMap, Namespace: "default", Name: "b"}
	document := oarlock.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": oarlock.Object{"name": "b", "namespace": "default"}}
	uid, version := "", ""
	runner := run(does{
		desired: func(*cx) (*oarlock.Object, error) { return &oarlock.Object{}, nil },
		patch: func(c *cx) (*oarlock.Outcome, error) {
			return (&oarlock.Outcome{RequeueAfter: time.Second}).
				Create(document).
				Patch(other, oarlock.JSONPatch, []oarlock.Object{{"op": "add", "path": "/data", "value": oarlock.Object{"a/b": "1"}}}).
				Patch(other, oarlock.JSONPatch, []oarlock.Object{{"op": "replace", "path": "/data/a~1b", "value": "2"}}).
				Patch(c.Ref(), oarlock.MergePatch, oarlock.Object{"data": oarlock.Object{"n": nil, "m": "2"}}, oarlock.IfUID(c.UID())).
				Normalf("Made", "%d", 1).Warningf("Odd", "two"), nil
		},
	})
	report := runner.Reconcile()
	if report.Err != nil || !report.Patched || report.RequeueAfter != time.Second {
		t.Fatalf("%+v", report)
	}
	if !slices.Equal(report.EventLines(), []string{"Normal Made: 1", "Warning Odd: two"}) {
		t.Fatal(report.EventLines())
	}
	if !reflect.DeepEqual(runner.Get(other)["data"], oarlock.Object{"a/b": "2"}) || !oarlocktest.Same(runner.Current()["data"], oarlock.Object{"m": "2"}) {
		t.Fatal(runner.Get(other), runner.Current())
	}
	uid, version = "another", "0"
	for _, precondition := range []oarlock.Option{oarlock.IfUID(uid), oarlock.IfResourceVersion(version)} {
		refused := run(does{
			desired: func(*cx) (*oarlock.Object, error) { return &oarlock.Object{}, nil },
			patch:   func(c *cx) (*oarlock.Outcome, error) { return (&oarlock.Outcome{}).Delete(c.Ref(), precondition), nil },
		})
		if err := refused.Reconcile().Err; !oarlock.IsTransient(err) || refused.Current() == nil {
			t.Fatal(err)
		}
	}
}

func TestAnApplyTakesBackWhatItLeftOut(t *testing.T) {
	ref := oarlock.Ref{Kind: configMap, Namespace: "default", Name: "b"}
	data := oarlock.Object{"x": "1", "y": "2"}
	runner := run(does{
		desired: func(*cx) (*oarlock.Object, error) {
			return &oarlock.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": oarlock.Object{"name": "b", "namespace": "default"}, "data": data}, nil
		},
		actual: func(*cx) (oarlock.Observation[oarlock.Object], error) {
			state, err := oarlock.GetApplied[oarlock.Object](ref)
			return oarlock.Observation[oarlock.Object]{State: state}, err
		},
		patch: func(c *cx) (*oarlock.Outcome, error) {
			document := oarlock.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": oarlock.Object{"name": "b", "namespace": "default"}, "data": data}
			return (&oarlock.Outcome{}).Apply(document), nil
		},
	})
	if report := runner.Reconcile(); !report.InSync() {
		t.Fatalf("%+v", report)
	}
	live := runner.Get(ref)
	live["data"].(oarlock.Object)["z"] = "somebody else's"
	runner.Put(live)
	if runner.Reconcile().Patched {
		t.Fatal("what is somebody else's is no difference")
	}
	data = oarlock.Object{"x": "1"}
	if report := runner.Reconcile(); !report.InSync() || !oarlocktest.Same(runner.Get(ref)["data"], oarlock.Object{"x": "1", "z": "somebody else's"}) {
		t.Fatalf("%+v %v", report, runner.Get(ref))
	}
}

func TestWhatTheManifestDoesNotAskForIsRefused(t *testing.T) {
	report := run(does{desired: func(*cx) (*oarlock.Object, error) {
		return oarlock.Get[oarlock.Object](oarlock.Ref{Kind: oarlock.KindOf("v1", "Secret"), Name: "s"})
	}}).Reconcile()
	if !oarlock.IsTerminal(report.Err) {
		t.Fatal(report.Err)
	}
	report = run(does{desired: func(*cx) (*oarlock.Object, error) {
		_, err := oarlock.Send(oarlock.HTTPRequest{URL: "http://b.example.com/"})
		return nil, err
	}}).Reconcile()
	if !oarlock.IsTerminal(report.Err) || len(report.Requests) != 0 {
		t.Fatal(report.Err)
	}
}

func TestObjectsAreListedInOrderByTheirLabels(t *testing.T) {
	for selector, want := range map[string]int{"": 3, "x=1": 1, "x==1": 1, "x!=1": 2, "x": 2, "!x": 1, "x=1,!x": 0} {
		runner := run(does{desired: func(*cx) (*oarlock.Object, error) {
			found, err := oarlock.List[oarlock.Object](configMap, oarlock.ListOptions{LabelSelector: selector})
			if err != nil || len(found) != want {
				t.Errorf("%q: %d, %v", selector, len(found), err)
			}
			if selector == "" && oarlock.Text(found[0], "metadata", "name") != "a" {
				t.Error(found)
			}
			return nil, nil
		}})
		runner.Put(oarlocktest.JSON(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default", "labels": {"x": "2"}}}`))
		runner.Put(oarlocktest.JSON(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "default"}}`))
		runner.Reconcile()
	}
}

func TestObjectsAreListedByDeclaredIndexes(t *testing.T) {
	for _, one := range []struct{ index, value, want string }{
		{"by-user", "me", "b"}, {"by-user", "you", "b c"}, {"by-user", "7", "c"}, {"by-user", "true", "b"}, {"by-user", "0.5", ""},
		{"by-user", "nobody", ""}, {"by-first", "7", "c"}, {"by-first", "you", ""}, {"by-x", "1", "a"},
	} {
		runner := run(does{desired: func(*cx) (*oarlock.Object, error) {
			found, err := oarlock.ListIndexed[oarlock.Object](configMap, one.index, one.value, oarlock.ListOptions{Namespace: "default"})
			names := []string{}
			for _, object := range found {
				names = append(names, oarlock.Text(object, "metadata", "name"))
			}
			if got := strings.Join(names, " "); err != nil || got != one.want {
				t.Errorf("%v: %q, %v", one, got, err)
			}
			return nil, nil
		}})
		runner.Put(oarlocktest.JSON(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"},
			"spec": {"users": [{"id": 7}, {"id": "you"}]}}`))
		runner.Put(oarlocktest.JSON(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "default"},
			"spec": {"users": [{"id": "me"}, {"id": ["you", true, 0.5]}, {}]}}`))
		runner.Put(oarlocktest.JSON(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "other"}, "spec": {"users": [{"id": "me"}]}}`))
		runner.Reconcile()
	}
	report := run(does{desired: func(*cx) (*oarlock.Object, error) {
		_, err := oarlock.ListIndexed[oarlock.Object](configMap, "by-name", "x", oarlock.ListOptions{})
		return nil, err
	}}).Reconcile()
	if !oarlock.IsTerminal(report.Err) || !strings.Contains(report.Err.Error(), `no index "by-name" of ConfigMap`) {
		t.Fatal(report.Err)
	}
}

func TestTheCacheForgetsInTimeAndAtARestart(t *testing.T) {
	var found string
	runner := run(does{desired: func(*cx) (*oarlock.Object, error) {
		value, _ := oarlock.CacheGet("k")
		found = string(value)
		oarlock.CacheSet("k", []byte("v"), time.Second)
		return nil, nil
	}})
	for _, step := range []struct {
		before func()
		want   string
	}{{func() {}, ""}, {func() {}, "v"}, {func() { runner.Advance(time.Second) }, ""}, {runner.Restart, ""}} {
		step.before()
		runner.Reconcile()
		if found != step.want {
			t.Fatalf("%q, want %q", found, step.want)
		}
	}
}

func TestHTTPGoesThroughTheHost(t *testing.T) {
	runner := run(does{desired: func(*cx) (*oarlock.Object, error) {
		client := &http.Client{Transport: oarlockhttp.Transport{}}
		response, err := client.Post("http://a.example.com/x", "text/plain", strings.NewReader("body"))
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		slog.Warn("answered", slog.Group("http", "status", response.StatusCode), "body", string(body), "one", response.Header.Get("X-One"))
		return nil, nil
	}})
	runner.HTTP = func(request *abi.Outgoing) (*abi.Response, error) {
		return &abi.Response{Status: 201, Headers: []abi.Header{{Name: "X-One", Value: "1"}}, Body: append([]byte("was "), request.Body...)}, nil
	}
	report := runner.Reconcile()
	want := oarlocktest.Line{Level: abi.Warn, Message: "answered", Fields: map[string]string{"http.status": "201", "body": "was body", "one": "1"}}
	if report.Err != nil || !reflect.DeepEqual(report.Log, []oarlocktest.Line{want}) {
		t.Fatalf("%+v", report)
	}
	runner.HTTP = nil
	if err := runner.Reconcile().Err; !oarlock.IsTransient(err) || !strings.Contains(err.Error(), "nobody answers") {
		t.Fatal(err)
	}
}

func TestADryRunOnlyShows(t *testing.T) {
	runner := run(does{
		desired: func(*cx) (*oarlock.Object, error) { return &oarlock.Object{}, nil },
		patch:   func(c *cx) (*oarlock.Outcome, error) { return (&oarlock.Outcome{}).Delete(c.Ref()), nil },
	})
	runner.DryRun = true
	if report := runner.Reconcile(); len(report.Changes) != 1 || runner.Current() == nil {
		t.Fatalf("%+v", report)
	}
}

func TestAdmissionPatchesWhatIsUnderReview(t *testing.T) {
	runner := run(does{
		desired: func(c *cx) (*oarlock.Object, error) {
			if oarlock.Text(c.Review(), "operation") != "CREATE" {
				return nil, oarlock.Deniedf("only creates").WithStatus(422, "Invalid")
			}
			return &oarlock.Object{"x": "1"}, nil
		},
		actual: func(c *cx) (observed oarlock.Observation[oarlock.Object], err error) {
			if data, ok := (*c.Object())["data"].(oarlock.Object); ok {
				observed.State = &data
			}
			return observed, nil
		},
		patch: func(*cx) (*oarlock.Outcome, error) {
			outcome := &oarlock.Outcome{Warnings: []string{"careful"}}
			return outcome.PatchReviewed(oarlock.MergePatch, oarlock.Object{"data": oarlock.Object{"x": "1"}}), nil
		},
	})
	object := oarlocktest.JSON(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "namespace": "default"}}`)
	report, changed := runner.Admit(object, oarlock.Object{"operation": "CREATE"})
	if !report.InSync() || !oarlocktest.Same(changed["data"], oarlock.Object{"x": "1"}) || len(report.Warnings) != 1 {
		t.Fatalf("%+v %v", report, changed)
	}
	report, _ = runner.Admit(object, oarlock.Object{"operation": "DELETE"})
	var denied *abi.Error
	if !errors.As(report.Err, &denied) || denied.Code != 422 || denied.Reason != "Invalid" {
		t.Fatal(report.Err)
	}
}

func TestAnObjectWithCleanupGoesWhenNothingIsLeft(t *testing.T) {
	with := manifest
	with.Cleanup = true
	left := true
	plugin := oarlock.New(with, does{
		actual: func(*cx) (observed oarlock.Observation[oarlock.Object], err error) {
			if left {
				observed.State = &oarlock.Object{}
			}
			observed.Status = oarlock.Object{"left": left}
			return observed, nil
		},
	})
	runner := oarlocktest.New(plugin, oarlocktest.JSON(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}`))
	runner.Delete()
	if report := runner.Reconcile(); report.Gone || !oarlocktest.Same(runner.Current()["status"], oarlock.Object{"left": true}) {
		t.Fatalf("%+v", report)
	}
	left = false
	if report := runner.Reconcile(); !report.Gone || runner.Current() != nil {
		t.Fatalf("%+v", report)
	}
}

func TestEachCallOfAnInstanceSeesTheObjectOfItsOwnRequest(t *testing.T) {
	var seen []string
	look := func(c *cx) {
		data := (*c.Object())["data"].(oarlock.Object)
		seen = append(seen, data["n"].(string))
		data["n"] = "changed"
	}
	plugin := oarlock.New(manifest, does{
		desired: func(c *cx) (*oarlock.Object, error) {
			look(c)
			return nil, nil
		},
		actual: func(c *cx) (observed oarlock.Observation[oarlock.Object], err error) {
			look(c)
			return observed, nil
		},
	})
	for _, asked := range [][2]string{{"1", "a"}, {"2", "b"}, {"3", "b"}} {
		object := fmt.Sprintf(`{"data": {"n": %q}}`, asked[0])
		request := &abi.Request{Key: abi.Key{Name: "a"}, Object: &object, CorrelationID: asked[1]}
		if _, err := plugin.GetDesired(request); err != nil {
			t.Fatal(err)
		}
		if _, err := plugin.GetActual(request); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"1", "1", "2", "2", "3", "3"}; !slices.Equal(seen, want) {
		t.Errorf("%v", seen)
	}
}
