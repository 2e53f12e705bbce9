// Package conversion converts custom resources between the versions of their definition. A plugin that imports it exports the interface
// `conversion` of the contract. Its manifest names the definitions:
//
//	func init() {
//		oarlock.Export(plugin)
//		conversion.Export(convert)
//	}
package conversion

import (
	"encoding/json"
	"fmt"
	"strings"

	"oarlock.dev/oarlock"
	"oarlock.dev/oarlock/abi"
	"oarlock.dev/oarlock/internal/fault"
)

// Converter answers an object in the API version desired, for example example.com/v2. Its apiVersion is another version of the same
// definition. Kind, name, namespace and uid stay.
//
// The result depends on the arguments alone: only the log works in this call. Nothing may be lost on the way to another version and back:
// Keep what a version lacks, and Restore it. The error is for the user whose request fails: it says which field cannot be converted.
type Converter func(object oarlock.Object, desired string) (oarlock.Object, error)

// Export makes convert what the component exports. Call it once, from an init function.
func Export(convert Converter) { abi.ExportConverter(convert.text) }

// text converts between documents as text.
func (c Converter) text(object, desired string) (string, error) {
	defer fault.Log()
	given, err := parse(object)
	if err != nil {
		return "", fmt.Errorf("the object is not JSON: %w", err)
	}
	converted, err := c(given.(oarlock.Object), desired)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(converted)
	if err != nil {
		panic(fmt.Sprintf("oarlock: what the converter answered is not JSON: %v", err))
	}
	return string(text), nil
}

// Keep keeps a value that the object's new version lacks in an annotation, as JSON. Nil removes the annotation.
func Keep(object oarlock.Object, annotation string, value any) {
	metadata, ok := object["metadata"].(oarlock.Object)
	if !ok {
		return
	}
	annotations, ok := metadata["annotations"].(oarlock.Object)
	if !ok {
		annotations = oarlock.Object{}
		metadata["annotations"] = annotations
	}
	delete(annotations, annotation)
	if value != nil {
		text, err := json.Marshal(value)
		if err != nil {
			panic(fmt.Sprintf("oarlock: what annotation %s keeps is not JSON: %v", annotation, err))
		}
		annotations[annotation] = string(text)
	}
	withoutEmptyAnnotations(metadata)
}

// Restore takes a value that Keep kept out of its annotation; nil if there is none. It fails when a user has changed the annotation to
// something that is not JSON.
func Restore(object oarlock.Object, annotation string) (any, error) {
	metadata, _ := object["metadata"].(oarlock.Object)
	annotations, _ := metadata["annotations"].(oarlock.Object)
	kept, ok := annotations[annotation].(string)
	if !ok {
		return nil, nil
	}
	delete(annotations, annotation)
	withoutEmptyAnnotations(metadata)
	value, err := parse(kept)
	if err != nil {
		return nil, fmt.Errorf("annotation %s is not JSON, remove it: %w", annotation, err)
	}
	return value, nil
}

func withoutEmptyAnnotations(metadata oarlock.Object) {
	if annotations, ok := metadata["annotations"].(oarlock.Object); ok && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}

// parse reads JSON without a loss.
func parse(text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}
