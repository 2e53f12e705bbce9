// A controller with one seeded bug for each mode of its configuration: what `oarlock check` must find. The Rust guest beside it has the
// table of all modes.
//
// A Site has ConfigMaps NAME-config, with its title and color, NAME-welcome, and NAME-N for each of its replicas. It needs no finalizer,
// because the Site owns them.
package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"oarlock.dev/oarlock"
)

const mostReplicas = 4

var (
	siteKind  = oarlock.KindOf("check.oarlock.test/v1", "Site")
	configMap = oarlock.KindOf("v1", "ConfigMap")
	verbs     = []string{"get", "list", "watch", "create", "patch", "delete"}
)

func init() {
	oarlock.Export(oarlock.New(oarlock.Manifest{
		Name:          "seeded-go",
		Version:       "1",
		Description:   "Has the bug that its configuration names",
		Primaries:     []oarlock.Primary{{Kind: siteKind}},
		Watches:       []oarlock.Watch{{Kind: configMap}},
		Permissions:   []oarlock.Rule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}},
		Config:        map[string]oarlock.Object{"mode": {"type": "string"}},
		ManageStatus:  true,
		ResyncSeconds: 3600,
	}, seeded{}))
}

func main() {}

type site struct {
	Spec struct {
		Title    string `json:"title"`
		Color    string `json:"color"`
		Replicas int    `json:"replicas"`
	} `json:"spec"`
	Status struct {
		Ready int `json:"ready"`
	} `json:"status"`
}

type cx = oarlock.Context[site]

// state has data by the name of the ConfigMap.
type state map[string]map[string]string

type seeded struct{}

func (seeded) Desired(c *cx) (*state, error) {
	spec := c.Object().Spec
	config := map[string]string{"title": spec.Title}
	if spec.Color != "" {
		config["color"] = spec.Color
	}
	all := state{c.Name() + "-config": config}
	begun, err := present(c, c.Name()+"-config")
	if err != nil {
		return nil, err
	}
	welcomed, err := present(c, c.Name()+"-welcome")
	if err != nil {
		return nil, err
	}
	// The bug: who has a config counts as welcomed.
	if begun == nil || welcomed != nil || !buggy("half-done") {
		all[c.Name()+"-welcome"] = map[string]string{"site": c.Name()}
	}
	for n := range spec.Replicas {
		all[fmt.Sprintf("%s-%d", c.Name(), n)] = map[string]string{"site": c.Name()}
	}
	return &all, nil
}

func (seeded) Actual(c *cx) (observed oarlock.Observation[state], err error) {
	names := []string{c.Name() + "-config", c.Name() + "-welcome"}
	for n := range mostReplicas {
		names = append(names, fmt.Sprintf("%s-%d", c.Name(), n))
	}
	all := state{}
	for _, name := range names {
		data, err := present(c, name)
		if err != nil {
			return observed, err
		}
		if data != nil {
			all[name] = data
		}
	}
	if len(all) > 0 {
		observed.State = &all
	}
	if !c.Deleting() {
		ready := c.Object().Spec.Replicas
		// The bug: replicas that are gone count.
		if buggy("false-status") {
			ready = max(ready, c.Object().Status.Ready)
		}
		observed.Status = oarlock.Object{"ready": ready}
	}
	return observed, nil
}

func (seeded) Patch(c *cx, desired, actual *state) (*oarlock.Outcome, error) {
	var wanted, found state
	if desired != nil {
		wanted = *desired
	}
	if actual != nil {
		found = *actual
	}
	outcome := &oarlock.Outcome{}
	// The welcome comes last.
	names := slices.SortedFunc(maps.Keys(wanted), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		if !maps.Equal(wanted[name], found[name]) || found[name] == nil {
			outcome.Apply(document(c, name, wanted[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if _, ok := wanted[name]; !ok {
			outcome.Delete(oarlock.Ref{Kind: configMap, Namespace: c.Namespace(), Name: name})
		}
	}
	return outcome, nil
}

// rank is the place of a ConfigMap in the order in which they are created.
func rank(name string) int {
	switch {
	case strings.HasSuffix(name, "-config"):
		return 0
	case strings.HasSuffix(name, "-welcome"):
		return 2
	}
	return 1
}

func buggy(mode string) bool { return oarlock.ConfigOr("mode", "") == mode }

// present is the data of a ConfigMap, as it was applied.
func present(c *cx, name string) (map[string]string, error) {
	found, err := oarlock.GetApplied[struct {
		Data map[string]string `json:"data"`
	}](oarlock.Ref{Kind: configMap, Namespace: c.Namespace(), Name: name})
	if found == nil || err != nil {
		return nil, err
	}
	if found.Data == nil {
		return map[string]string{}, nil
	}
	return found.Data, nil
}

func document(c *cx, name string, data map[string]string) oarlock.Object {
	metadata := oarlock.Object{"name": name, "namespace": c.Namespace()}
	// The bug: only a Site whose deletion is seen takes them with it.
	if !buggy("misses-deletions") {
		metadata["ownerReferences"] = []oarlock.OwnerReference{c.OwnerReference()}
	}
	return oarlock.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
}
