package oarlock

import "oarlock.dev/oarlock/abi"

// Get reads an object, without managedFields, from the host's cache. Nil: it does not exist. Its kind must be a primary or a watch. O is the
// shape to read: a struct, or Object. A read never answers with less than the host's own last write.
func Get[O any](ref Ref) (*O, error) {
	text, err := host().GetObject(ref.Kind, ref.key())
	return found[O](text, err)
}

// GetApplied reads what this plugin owns of an object: the exact counterpart of Outcome.Apply. While that part is what our last apply got
// back, it is the document as it was applied, so respelled quantities and defaults do not show as differences. Nil: the object does not
// exist, or this plugin owns nothing of it.
func GetApplied[O any](ref Ref) (*O, error) {
	text, err := host().GetApplied(ref.Kind, ref.key())
	return found[O](text, err)
}

// GetLive reads an object past the cache, from the API server: costs a request.
func GetLive[O any](ref Ref) (*O, error) {
	text, err := host().GetLive(ref.Kind, ref.key())
	return found[O](text, err)
}

// ListOptions say which objects to list.
type ListOptions = abi.ListOptions

// List reads objects from the host's cache, in order of namespace and name.
func List[O any](kind Kind, options ListOptions) ([]O, error) {
	return parsed[O](host().ListObjects(kind, options))
}

// ListIndexed reads, as List, objects with a value in an index of the manifest. The time depends on the number of these objects alone. A
// terminal error when the manifest declares no such index of the kind.
func ListIndexed[O any](kind Kind, index, value string, options ListOptions) ([]O, error) {
	return parsed[O](host().ListIndexed(kind, index, value, options))
}

func parsed[O any](texts []string, err error) ([]O, error) {
	if err != nil {
		return nil, fromHost(err)
	}
	objects := make([]O, 0, len(texts))
	for _, text := range texts {
		objects = append(objects, *parseOption[O]("an object", &text))
	}
	return objects, nil
}

func found[O any](text *string, err error) (*O, error) {
	if err != nil {
		return nil, fromHost(err)
	}
	return parseOption[O]("an object", text), nil
}

// TwoWayPatch is the strategic merge patch that makes modified of original.
func TwoWayPatch(kind Kind, original, modified any) (Object, error) {
	return merged(host().CreateTwoWay(kind, objectDocument("original", original), objectDocument("modified", modified)))
}

// ThreeWayPatch is the strategic merge patch that brings current what changed from original to modified, and leaves alone what others wrote.
func ThreeWayPatch(kind Kind, original, modified, current any) (Object, error) {
	return merged(host().CreateThreeWay(
		kind, objectDocument("original", original), objectDocument("modified", modified), objectDocument("current", current),
	))
}

// ApplyStrategicPatch is original with a strategic merge patch applied.
func ApplyStrategicPatch(kind Kind, original, patch any) (Object, error) {
	return merged(host().ApplyPatch(kind, objectDocument("original", original), objectDocument("a patch", patch)))
}

func merged(text string, err error) (Object, error) {
	if err != nil {
		return nil, fromHost(err)
	}
	return *parseOption[Object]("a merged document", &text), nil
}
