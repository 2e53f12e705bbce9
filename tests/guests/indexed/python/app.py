"""The object's data.uses names a Secret; the state is the ConfigMaps that use the same. For tests of declared indexes."""

from oarlock import Context, Index, Manifest, Outcome, cluster, kind, reconciler

CONFIG_MAP = kind("v1", "ConfigMap")


@reconciler(Manifest("indexed", "1", primaries=[CONFIG_MAP], indexes=[Index("by-secret", CONFIG_MAP, ".data['uses']")]))
class Indexed:
    def desired(self, cx: Context[dict]) -> str:
        data = cx.object["data"]
        users = cluster.list_indexed(CONFIG_MAP, data.get("index", "by-secret"), data["uses"], namespace=cx.namespace)
        return " ".join(user["metadata"]["name"] for user in users)

    def actual(self, cx: Context[dict]) -> None:
        return None

    def patch(self, cx: Context[dict], desired: str | None, actual: str | None) -> Outcome:
        return Outcome()
