// The object's data.uses names a Secret; the state is the ConfigMaps that use the same. For tests of declared indexes.
package main

import (
	"cmp"
	"strings"

	"oarlock.dev/oarlock"
)

type cx = oarlock.Context[oarlock.Object]

var configMap = oarlock.KindOf("v1", "ConfigMap")

func init() {
	oarlock.Export(oarlock.New(oarlock.Manifest{
		Name:      "indexed",
		Version:   "1",
		Primaries: []oarlock.Primary{{Kind: configMap}},
		Indexes:   []oarlock.Index{{Name: "by-secret", Kind: configMap, JSONPath: ".data['uses']"}},
	}, indexed{}))
}

func main() {}

type indexed struct{}

func (indexed) Desired(c *cx) (*string, error) {
	index := cmp.Or(oarlock.Text(*c.Object(), "data", "index"), "by-secret")
	options := oarlock.ListOptions{Namespace: c.Namespace()}
	users, err := oarlock.ListIndexed[oarlock.Object](configMap, index, oarlock.Text(*c.Object(), "data", "uses"), options)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, user := range users {
		names = append(names, oarlock.Text(user, "metadata", "name"))
	}
	state := strings.Join(names, " ")
	return &state, nil
}

func (indexed) Actual(*cx) (observed oarlock.Observation[string], err error) { return observed, nil }

func (indexed) Patch(*cx, *string, *string) (*oarlock.Outcome, error) { return nil, nil }
