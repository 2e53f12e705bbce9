"""Keeps a greeting on every {{kind}}."""

{{#types}}
import api  # made of crd.yaml: make types
{{/types}}
from oarlock import Context, Manifest, ObjectRef, Outcome, PolicyRule, Watch, cluster, config, kind, reconciler

ANNOTATION = "example.com/greeting"

MANIFEST = Manifest(
    "{{name}}",
    "0.1.0",
    description="Keeps a greeting on every {{kind}}",
    primaries=[kind("{{api_version}}", "{{kind}}")],
    # No mapping is needed: the host wakes the objects that read the ConfigMap.
    watches=[Watch(kind("v1", "ConfigMap"), names=["greeting"])],
    permissions=[PolicyRule(["{{group}}"], ["{{plural}}"], ["get", "list", "watch", "patch"])],
    config={"greeting": {"type": "string", "description": "The greeting word. Hello unless set."}},
)


@reconciler(MANIFEST)
class {{kind}}Reconciler:
    def desired(self, cx: Context[{{object_type}}]) -> dict | None:
        """What should be. Not asked while the object is going: then nothing should."""
        settings = cluster.get_object(ObjectRef(kind("v1", "ConfigMap"), namespace=cx.namespace, name="greeting")) or {}
        word = settings.get("data", {}).get("greeting") or config.get("greeting", "Hello")
        return {"greeting": f"{word}, {cx.name}"}

    def actual(self, cx: Context[{{object_type}}]) -> dict | None:
        """What is. Read from the cluster and not from `cx.object`, because it is asked again after the patch."""
        live = None if cx.deleting else cluster.get_object(cx.ref)
        greeting = ((live or {}).get("metadata", {}).get("annotations") or {}).get(ANNOTATION)
        return None if greeting is None else {"greeting": greeting}

    def patch(self, cx: Context[{{object_type}}], desired: dict, actual: dict | None) -> Outcome:
        """What makes one of the other. Only asked when they differ; the host carries it out."""
        return Outcome().patch(cx.ref, {"metadata": {"annotations": {ANNOTATION: desired["greeting"]}}})
