package oarlocktest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"oarlock.dev/oarlock"
	"oarlock.dev/oarlock/abi"
)

type id struct {
	kind abi.Kind
	key  abi.Key
}

func idOf(ref oarlock.Ref) id { return id{ref.Kind, abi.Key{Namespace: ref.Namespace, Name: ref.Name}} }

type cached struct {
	value []byte
	// Milliseconds; 0: never.
	expires uint64
}

// world is what surrounds the reconciler: the host, and the API server behind it.
type world struct {
	runner   *Runner
	objects  map[id]Object
	applied  map[id]Object
	cache    map[string]cached
	now      uint64
	written  int
	requests []*abi.Outgoing
	log      []Line
}

// identity is the kind and key a document carries.
func identity(object Object) (id, error) {
	found := idOf(oarlock.Ref{
		Kind:      oarlock.KindOf(oarlock.Text(object, "apiVersion"), oarlock.Text(object, "kind")),
		Namespace: oarlock.Text(object, "metadata", "namespace"),
		Name:      oarlock.Text(object, "metadata", "name"),
	})
	if found.kind.Version == "" || found.kind.Kind == "" || found.key.Name == "" {
		return id{}, oarlock.Terminalf("an object needs apiVersion, kind and metadata.name: %s", *text(object))
	}
	return found, nil
}

// store keeps an object with a uid and a new resource version.
func (w *world) store(object Object) id {
	of, err := identity(object)
	if err != nil {
		panic("oarlocktest: " + err.Error())
	}
	w.written++
	metadata := object["metadata"].(Object)
	if oarlock.Text(metadata, "uid") == "" {
		metadata["uid"] = fmt.Sprintf("uid-%d", w.written)
	}
	metadata["resourceVersion"] = strconv.Itoa(w.written)
	w.objects[of] = object
	return of
}

func (w *world) remove(of id) {
	delete(w.objects, of)
	delete(w.applied, of)
}

// carryOut does one change, as the API server would.
func (w *world) carryOut(change oarlock.Change, reviewed *Object) error {
	switch change := change.(type) {
	case *abi.ApplyChange:
		document := JSON(change.Object)
		of, err := identity(document)
		if err != nil {
			return err
		}
		if err := w.check(of, change.Precondition); err != nil {
			return err
		}
		merged := applied(w.objects[of], w.applied[of], document).(Object)
		w.applied[of] = document
		w.store(copied(merged))
	case *abi.CreateChange:
		object := JSON(change.Object)
		of, err := identity(object)
		if err != nil {
			return err
		}
		if w.objects[of] != nil {
			return oarlock.Terminalf("%s %s already exists", of.kind.Kind, of.key.Name)
		}
		w.store(object)
	case *abi.PatchChange:
		return w.patch(change, reviewed)
	case *abi.DeleteChange:
		of := id{change.Target.Kind, change.Target.Key}
		if err := w.check(of, change.Precondition); err != nil {
			return err
		}
		w.remove(of)
	}
	return nil
}

func (w *world) patch(change *abi.PatchChange, reviewed *Object) error {
	var object Object
	if change.Target == nil {
		if reviewed == nil {
			return oarlock.Terminalf("there is no object under review")
		}
		object = copied(*reviewed)
	} else {
		of := id{change.Target.Kind, change.Target.Key}
		if err := w.check(of, change.Precondition); err != nil {
			return err
		}
		if object = copied(w.objects[of]); object == nil {
			return oarlock.Terminalf("%s %s does not exist", of.kind.Kind, of.key.Name)
		}
	}
	var patched any
	var err error
	switch change.Type {
	case abi.MergePatch:
		patched = mergePatch(object, value(&change.Patch))
	case abi.JSONPatch:
		patched, err = jsonPatch(object, value(&change.Patch))
	default:
		err = errStrategic()
	}
	if err != nil {
		return err
	}
	result, ok := patched.(Object)
	if !ok {
		return oarlock.Terminalf("the patch leaves no object: %s", change.Patch)
	}
	if change.Target == nil {
		*reviewed = result
	} else {
		w.store(copied(result))
	}
	return nil
}

func errStrategic() error {
	return oarlock.Terminalf("strategic merge is not in oarlocktest: play a case with oarlock test")
}

func (w *world) check(of id, precondition abi.Precondition) error {
	holds := func(wanted *string, field string) bool {
		return wanted == nil || *wanted == oarlock.Text(w.objects[of], "metadata", field)
	}
	if holds(precondition.UID, "uid") && holds(precondition.ResourceVersion, "resourceVersion") {
		return nil
	}
	return oarlock.Transientf("precondition failed: %s %s is another one by now", of.kind.Kind, of.key.Name)
}

// declared refuses kinds outside the manifest, as the host refuses those outside the grant.
func (w *world) declared(kind abi.Kind) error {
	manifest := w.runner.plugin.Manifest()
	primary := slices.ContainsFunc(manifest.Primaries, func(p oarlock.Primary) bool { return p.Kind == kind })
	if primary || slices.ContainsFunc(manifest.Watches, func(watch oarlock.Watch) bool { return watch.Kind == kind }) {
		return nil
	}
	return oarlock.Terminalf("%s is neither a primary nor a watch of the manifest", kind.Kind)
}

func some(object any) *string {
	if found, ok := object.(Object); !ok || found == nil {
		return nil
	}
	return text(object)
}

func (w *world) GetObject(kind abi.Kind, key abi.Key) (*string, error) {
	return some(w.objects[id{kind, key}]), w.declared(kind)
}

func (w *world) GetLive(kind abi.Kind, key abi.Key) (*string, error) {
	return some(w.objects[id{kind, key}]), nil
}

func (w *world) GetApplied(kind abi.Kind, key abi.Key) (*string, error) {
	of := id{kind, key}
	live, document := w.objects[of], w.applied[of]
	if live == nil || document == nil {
		return nil, w.declared(kind)
	}
	return some(part(live, document)), w.declared(kind)
}

func (w *world) ListObjects(kind abi.Kind, options abi.ListOptions) ([]string, error) {
	if err := w.declared(kind); err != nil {
		return nil, err
	}
	return w.list(kind, options, func(Object) bool { return true }), nil
}

func (w *world) ListIndexed(kind abi.Kind, name, value string, options abi.ListOptions) ([]string, error) {
	if err := w.declared(kind); err != nil {
		return nil, err
	}
	indexes := w.runner.plugin.Manifest().Indexes
	at := slices.IndexFunc(indexes, func(index oarlock.Index) bool { return index.Kind == kind && index.Name == name })
	if at < 0 {
		return nil, oarlock.Terminalf("the manifest declares no index %q of %s", name, kind.Kind)
	}
	return w.list(kind, options, func(object Object) bool { return slices.Contains(indexed(indexes[at], object), value) }), nil
}

func (w *world) list(kind abi.Kind, options abi.ListOptions, has func(Object) bool) []string {
	of := slices.SortedFunc(maps.Keys(w.objects), func(a, b id) int {
		return strings.Compare(a.key.Namespace+"\x00"+a.key.Name, b.key.Namespace+"\x00"+b.key.Name)
	})
	texts := []string{}
	for _, one := range of {
		object := w.objects[one]
		if one.kind != kind || options.Namespace != "" && one.key.Namespace != options.Namespace ||
			!owned(object, options.OwnerUID) || !selected(object, options.LabelSelector) || !has(object) {
			continue
		}
		texts = append(texts, *text(object))
		if options.Limit > 0 && len(texts) == int(options.Limit) {
			break
		}
	}
	return texts
}

func owned(object Object, by string) bool {
	metadata, _ := object["metadata"].(Object)
	owners, _ := metadata["ownerReferences"].([]any)
	return by == "" || slices.ContainsFunc(owners, func(owner any) bool { return oarlock.Text(owner, "uid") == by })
}

// selected knows a=b, a==b, a!=b, a and !a, joined by commas.
func selected(object Object, selector string) bool {
	metadata, _ := object["metadata"].(Object)
	labels, _ := metadata["labels"].(Object)
	for term := range strings.SplitSeq(selector, ",") {
		if strings.ContainsAny(term, "()") {
			panic("oarlocktest: it does not know the label selector " + selector)
		}
		term = strings.TrimSpace(term)
		if name, wanted, ok := strings.Cut(term, "="); ok {
			name, not := strings.CutSuffix(name, "!")
			has, set := labels[strings.TrimSpace(name)].(string)
			if (set && has == strings.TrimSpace(strings.TrimPrefix(wanted, "="))) == not {
				return false
			}
		} else if name, not := strings.CutPrefix(term, "!"); term != "" {
			if _, has := labels[name]; has == not {
				return false
			}
		}
	}
	return true
}

func (w *world) CreateTwoWay(abi.Kind, string, string) (string, error) { return "", errStrategic() }
func (w *world) CreateThreeWay(abi.Kind, string, string, string) (string, error) {
	return "", errStrategic()
}
func (w *world) ApplyPatch(abi.Kind, string, string) (string, error) { return "", errStrategic() }

func (w *world) Send(request *abi.Outgoing) (*abi.Response, error) {
	if failure := w.refused(request); failure != nil {
		return nil, failure
	}
	w.requests = append(w.requests, request)
	if w.runner.HTTP == nil {
		return nil, &abi.Failure{Class: abi.Unreachable, Message: "nobody answers"}
	}
	response, err := w.runner.HTTP(request)
	if response != nil {
		for i := range response.Headers {
			response.Headers[i].Name = strings.ToLower(response.Headers[i].Name)
		}
	}
	return response, err
}

func (w *world) refused(request *abi.Outgoing) *abi.Failure {
	origin, path := originOf(request.URL)
	if origin == "" {
		return &abi.Failure{Class: abi.Invalid, Message: "not an absolute http or https URL: " + request.URL}
	}
	access := w.runner.plugin.Manifest().HTTP
	if access == nil {
		access = &oarlock.HTTPAccess{}
	}
	granted := slices.Clone(access.Origins)
	for _, key := range access.OriginsFromConfig {
		granted = append(granted, w.runner.Config[key])
	}
	if !slices.ContainsFunc(granted, func(known string) bool { o, _ := originOf(known); return o == origin }) {
		return &abi.Failure{Class: abi.RequestDenied, Message: "the manifest does not ask for " + origin}
	}
	safe := slices.ContainsFunc(access.SafeRequests, func(known oarlock.SafeRequest) bool {
		end, anywhere := strings.CutPrefix(known.Path, "*")
		return known.Method == request.Method && (known.Path == path || anywhere && strings.HasSuffix(path, end))
	})
	if w.runner.DryRun && !safe && request.Method != "GET" && request.Method != "HEAD" {
		return &abi.Failure{Class: abi.RequestDenied, Message: "dry run: " + request.Method + " " + path}
	}
	return nil
}

func originOf(address string) (origin, path string) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return "", ""
	}
	return parsed.Scheme + "://" + parsed.Host, parsed.Path
}

func (w *world) CacheGet(key string) ([]byte, bool) {
	entry, ok := w.cache[key]
	if !ok || entry.expires != 0 && w.now >= entry.expires {
		return nil, false
	}
	return entry.value, true
}

func (w *world) CacheSet(key string, value []byte, ttlMS uint64) {
	if len(value) == 0 {
		delete(w.cache, key)
		return
	}
	entry := cached{value: slices.Clone(value)}
	if ttlMS != 0 {
		entry.expires = w.now + ttlMS
	}
	w.cache[key] = entry
}

func (w *world) ConfigGet(key string) (string, bool) {
	value, ok := w.runner.Config[key]
	return value, ok
}

func (w *world) ConfigKeys() []string { return slices.Sorted(maps.Keys(w.runner.Config)) }

func (w *world) Log(level abi.Level, message string, fields [][2]string) {
	line := Line{level, message, map[string]string{}}
	for _, field := range fields {
		line.Fields[field[0]] = field[1]
	}
	w.log = append(w.log, line)
}
