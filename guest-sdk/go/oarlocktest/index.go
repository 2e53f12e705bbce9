package oarlocktest

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"oarlock.dev/oarlock"
)

// step is one of [0], [*], ['name'], ["name"] and a field name, in which a backslash takes the next character as it is.
var step = regexp.MustCompile(`^\.?(?:\[(-?[0-9]+)\]|(\[\*\]|\*)|\[(?:'([^']*)'|"([^"]*)")\]|((?:\\.|[^.\[\]()=!<>\\?@ '"*])+))`)

var escaped = regexp.MustCompile(`\\(.)`)

// indexed are the values of an object in an index.
func indexed(index oarlock.Index, object Object) []string {
	if index.Label != "" {
		metadata, _ := object["metadata"].(Object)
		labels, _ := metadata["labels"].(Object)
		return scalars(labels[index.Label])
	}
	path := strings.TrimSpace(index.JSONPath)
	if inner, ok := strings.CutPrefix(path, "{"); ok {
		path = strings.TrimSuffix(inner, "}")
	}
	path = strings.TrimPrefix(path, "$")
	found := []any{object}
	for path != "" {
		parts := step.FindStringSubmatch(path)
		if parts == nil {
			panic("oarlocktest: the index " + index.Name + " has a path that is no index: " + index.JSONPath)
		}
		path = path[len(parts[0]):]
		var next []any
		for _, value := range found {
			next = append(next, follow(parts, value)...)
		}
		found = next
	}
	var values []string
	for _, value := range found {
		if items, ok := value.([]any); ok {
			for _, item := range items {
				values = append(values, scalars(item)...)
			}
		} else {
			values = append(values, scalars(value)...)
		}
	}
	return values
}

// follow is what one step leads to.
func follow(parts []string, value any) []any {
	item, all := parts[1], parts[2] != ""
	switch value := value.(type) {
	case []any:
		if all {
			return value
		}
		at, err := strconv.Atoi(item)
		if at < 0 {
			at += len(value)
		}
		if err == nil && at >= 0 && at < len(value) {
			return value[at : at+1]
		}
	case Object:
		if all {
			return slices.Collect(maps.Values(value))
		}
		name := parts[3] + parts[4] + escaped.ReplaceAllString(parts[5], "$1")
		if field, ok := value[name]; ok && item == "" {
			return []any{field}
		}
	}
	return nil
}

// scalars is the string, integer or boolean that a value is.
func scalars(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case bool:
		return []string{strconv.FormatBool(value)}
	case json.Number:
		if !strings.ContainsAny(value.String(), ".eE") {
			return []string{value.String()}
		}
	}
	return nil
}
