package oarlocktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"oarlock.dev/oarlock"
)

// JSON is an object written as JSON.
func JSON(text string) Object {
	object, ok := value(&text).(Object)
	if !ok {
		panic("oarlocktest: not a JSON object: " + text)
	}
	return object
}

// Same compares two values as JSON: 1 and 1.0 are the same number, null and absent are different things.
func Same(a, b any) bool {
	switch a := plain(a).(type) {
	case json.Number:
		b, ok := plain(b).(json.Number)
		return ok && sameNumber(a, b)
	case Object:
		b, ok := plain(b).(Object)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if other, ok := b[key]; !ok || !Same(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := plain(b).([]any)
		return ok && slices.EqualFunc(a, b, Same)
	default:
		switch b := plain(b).(type) {
		case Object, []any, json.Number:
			return false
		default:
			return a == b
		}
	}
}

func sameNumber(a, b json.Number) bool {
	x, ok := new(big.Rat).SetString(a.String())
	y, okay := new(big.Rat).SetString(b.String())
	return ok && okay && x.Cmp(y) == 0
}

// plain is a value as JSON has it, whatever it was made of.
func plain(v any) any {
	switch v.(type) {
	case nil, string, bool, json.Number, Object, []any:
		return v
	}
	return value(text(v))
}

func text(v any) *string {
	bytes, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("oarlocktest: %v", err))
	}
	found := string(bytes)
	return &found
}

func value(text *string) any {
	if text == nil {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(*text))
	decoder.UseNumber()
	var found any
	if err := decoder.Decode(&found); err != nil {
		panic(fmt.Sprintf("oarlocktest: not JSON: %v: %s", err, *text))
	}
	return found
}

// toObject is an object in a form of its own.
func toObject(v any) Object { return JSON(*text(v)) }

func copied(object Object) Object {
	if object == nil {
		return nil
	}
	return toObject(object)
}

// mergePatch is RFC 7396.
func mergePatch(target, patch any) any {
	changes, ok := patch.(Object)
	if !ok {
		return patch
	}
	merged := Object{}
	if before, ok := target.(Object); ok {
		maps.Copy(merged, before)
	}
	for key, change := range changes {
		if change == nil {
			delete(merged, key)
		} else {
			merged[key] = mergePatch(merged[key], change)
		}
	}
	return merged
}

// jsonPatch is RFC 6902. It changes document.
func jsonPatch(document any, patch any) (any, error) {
	operations, _ := patch.([]any)
	for _, one := range operations {
		operation, _ := one.(Object)
		at, from := pointer(oarlock.Text(operation, "path")), pointer(oarlock.Text(operation, "from"))
		changed := operation["value"]
		var err error
		switch op := oarlock.Text(operation, "op"); op {
		case "add", "replace":
			if op == "replace" {
				if _, document, err = cut(document, at); err != nil {
					break
				}
			}
			document, err = put(document, at, changed)
		case "remove":
			_, document, err = cut(document, at)
		case "move":
			if changed, document, err = cut(document, from); err == nil {
				document, err = put(document, at, changed)
			}
		case "copy":
			if changed, err = look(document, from); err == nil {
				document, err = put(document, at, changed)
			}
		case "test":
			var found any
			if found, err = look(document, at); err == nil && !Same(found, changed) {
				err = fmt.Errorf("the test failed")
			}
		default:
			err = fmt.Errorf("there is no operation %q", op)
		}
		if err != nil {
			return nil, oarlock.Terminalf("JSON patch: %s: %w", *text(one), err)
		}
	}
	return document, nil
}

func pointer(path string) []string {
	if path == "" {
		return nil
	}
	parts := strings.Split(path, "/")[1:]
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts
}

// change rebuilds the list or object that holds the last part of a path.
func change(document any, path []string, do func(holder any, last string) (any, error)) (any, error) {
	if len(path) == 1 {
		return do(document, path[0])
	}
	below, err := look(document, path[:1])
	if err != nil {
		return nil, err
	}
	if below, err = change(below, path[1:], do); err != nil {
		return nil, err
	}
	switch holder := document.(type) {
	case Object:
		holder[path[0]] = below
	case []any:
		index, _ := strconv.Atoi(path[0])
		holder[index] = below
	}
	return document, nil
}

func look(document any, path []string) (any, error) {
	for _, part := range path {
		switch holder := document.(type) {
		case Object:
			found, ok := holder[part]
			if !ok {
				return nil, fmt.Errorf("there is no %q", part)
			}
			document = found
		case []any:
			index, err := strconv.Atoi(part)
			if err != nil || index < 0 || index >= len(holder) {
				return nil, fmt.Errorf("there is no %q", part)
			}
			document = holder[index]
		default:
			return nil, fmt.Errorf("there is no %q", part)
		}
	}
	return document, nil
}

func put(document any, path []string, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	return change(document, path, func(holder any, last string) (any, error) {
		switch holder := holder.(type) {
		case Object:
			holder[last] = value
			return holder, nil
		case []any:
			index, err := strconv.Atoi(last)
			if last == "-" {
				index, err = len(holder), nil
			}
			if err != nil || index < 0 || index > len(holder) {
				return nil, fmt.Errorf("there is no %q", last)
			}
			return slices.Insert(holder, index, value), nil
		}
		return nil, fmt.Errorf("there is no %q", last)
	})
}

func cut(document any, path []string) (any, any, error) {
	found, err := look(document, path)
	if err != nil || len(path) == 0 {
		return found, nil, err
	}
	document, err = change(document, path, func(holder any, last string) (any, error) {
		switch holder := holder.(type) {
		case Object:
			delete(holder, last)
			return holder, nil
		case []any:
			index, _ := strconv.Atoi(last)
			return slices.Delete(holder, index, index+1), nil
		}
		return holder, nil
	})
	return found, document, err
}

// applied is server-side apply by one manager who takes over what others own: document over live, without what only before, the document
// of the last apply, had.
func applied(live, before, document any) any {
	fields, ok := document.(Object)
	if !ok {
		return document
	}
	merged := Object{}
	if known, ok := live.(Object); ok {
		maps.Copy(merged, known)
	}
	last, _ := before.(Object)
	for key, old := range last {
		if _, wanted := fields[key]; !wanted {
			if left := without(merged[key], old); left == nil {
				delete(merged, key)
			} else {
				merged[key] = left
			}
		}
	}
	for key, value := range fields {
		merged[key] = applied(merged[key], last[key], value)
	}
	return merged
}

// without is live without what owned holds; nil where nothing is left.
func without(live, owned any) any {
	known, ok := live.(Object)
	gone, also := owned.(Object)
	if !ok || !also {
		return nil
	}
	kept := Object{}
	for key, value := range known {
		if old, was := gone[key]; was {
			value = without(value, old)
		}
		if value != nil {
			kept[key] = value
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// part is of live what document names.
func part(live, document any) any {
	fields, ok := document.(Object)
	known, also := live.(Object)
	if !ok || !also {
		return live
	}
	found := Object{}
	for key, value := range fields {
		if there, ok := known[key]; ok {
			found[key] = part(there, value)
		}
	}
	return found
}
