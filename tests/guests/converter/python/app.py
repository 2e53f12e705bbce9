"""Converts Gauges between v1 (one size) and v2 (sizes). An object whose name begins with `trap-` or `refuse-` makes it misbehave in that way."""

from oarlock import Context, ConversionError, Manifest, Outcome, keep, reconciler, restore

V1 = "convert.example.com/v1"
V2 = "convert.example.com/v2"
MORE_SIZES = "convert.example.com/more-sizes"


@reconciler(Manifest("converter", "1", conversions=["gauges.convert.example.com"]))
class Gauges:
    def desired(self, cx: Context[dict]) -> None:
        return None

    def actual(self, cx: Context[dict]) -> None:
        return None

    def patch(self, cx: Context[dict], desired: None, actual: None) -> Outcome:
        return Outcome()

    def convert(self, object: dict, desired: str) -> dict:
        name = object["metadata"]["name"]
        print(f"to {desired}: {name}")
        if name.startswith("trap-"):
            raise RuntimeError("as asked")
        if name.startswith("refuse-"):
            raise ConversionError("spec.size: refused as asked")
        versions = (object["apiVersion"], desired)
        if versions == (V1, V2):
            object["spec"] = {"sizes": [object["spec"]["size"], *(restore(object, MORE_SIZES) or [])]}
        elif versions == (V2, V1):
            if not object["spec"]["sizes"]:
                raise ConversionError("spec.sizes is empty, and v1 has exactly one size")
            size, *more = object["spec"]["sizes"]
            object["spec"] = {"size": size}
            keep(object, MORE_SIZES, more or None)
        else:
            raise ConversionError(f"Gauge has no conversion from {versions[0]} to {desired}")
        return object | {"apiVersion": desired}
