// Converts Gauges between v1 (one size) and v2 (sizes). An object whose name begins with `trap-` or `refuse-` makes it misbehave in that way.

import { ConversionError, Outcome, defineManifest, defineReconciler, keep, restore } from "oarlock-guest";

const MORE_SIZES = "convert.example.com/more-sizes";

export default defineReconciler({
  manifest: defineManifest({ name: "converter", version: "1", conversions: ["gauges.convert.example.com"] }),

  desired: () => null,
  actual: () => null,
  patch: () => new Outcome(),

  convert(object, desired) {
    console.log("to %s: %s", desired, object.metadata.name);
    if (object.metadata.name.startsWith("trap-")) throw new RangeError("as asked");
    if (object.metadata.name.startsWith("refuse-")) throw new ConversionError("spec.size: refused as asked");
    switch (`${object.apiVersion} ${desired}`) {
      case "convert.example.com/v1 convert.example.com/v2":
        object.spec = { sizes: [object.spec.size, ...(restore(object, MORE_SIZES) ?? [])] };
        break;
      case "convert.example.com/v2 convert.example.com/v1": {
        const [size, ...more] = object.spec.sizes;
        if (size === undefined) throw new ConversionError("spec.sizes is empty, and v1 has exactly one size");
        object.spec = { size };
        keep(object, MORE_SIZES, more.length > 0 ? more : null);
        break;
      }
      default:
        throw new ConversionError(`Gauge has no conversion from ${object.apiVersion} to ${desired}`);
    }
    return { ...object, apiVersion: desired };
  },
});
