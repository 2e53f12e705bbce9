// Converts Gauges between v1 (one size) and v2 (sizes). An object whose name begins with trap- or refuse- makes it misbehave in that way.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"oarlock.dev/oarlock"
	"oarlock.dev/oarlock/conversion"
)

const (
	v1        = "convert.example.com/v1"
	v2        = "convert.example.com/v2"
	moreSizes = "convert.example.com/more-sizes"
)

var plugin = oarlock.New(oarlock.Manifest{
	Name:        "converter",
	Version:     "1",
	Conversions: []string{"gauges.convert.example.com"},
}, gauges{})

func init() {
	oarlock.Export(plugin)
	conversion.Export(convert)
}

func main() {}

func convert(object oarlock.Object, desired string) (oarlock.Object, error) {
	name, present := oarlock.Text(object, "metadata", "name"), oarlock.Text(object, "apiVersion")
	slog.Info("converts", "name", name, "to", desired)
	switch {
	case strings.HasPrefix(name, "trap-"):
		panic("as asked")
	case strings.HasPrefix(name, "refuse-"):
		return nil, errors.New("spec.size: refused as asked")
	case present == v1 && desired == v2:
		restored, err := conversion.Restore(object, moreSizes)
		if err != nil {
			return nil, err
		}
		more, _ := restored.([]any)
		object["spec"] = oarlock.Object{"sizes": append([]any{object["spec"].(oarlock.Object)["size"]}, more...)}
	case present == v2 && desired == v1:
		sizes, _ := object["spec"].(oarlock.Object)["sizes"].([]any)
		if len(sizes) == 0 {
			return nil, errors.New("spec.sizes is empty, and v1 has exactly one size")
		}
		object["spec"] = oarlock.Object{"size": sizes[0]}
		if len(sizes) > 1 {
			conversion.Keep(object, moreSizes, sizes[1:])
		}
	default:
		return nil, fmt.Errorf("Gauge has no conversion from %s to %s", present, desired)
	}
	object["apiVersion"] = desired
	return object, nil
}

type gauges struct{}

func (gauges) Desired(*oarlock.Context[oarlock.Object]) (*bool, error) { return nil, nil }

func (gauges) Actual(*oarlock.Context[oarlock.Object]) (observed oarlock.Observation[bool], err error) {
	return observed, nil
}

func (gauges) Patch(*oarlock.Context[oarlock.Object], *bool, *bool) (*oarlock.Outcome, error) {
	return nil, nil
}
