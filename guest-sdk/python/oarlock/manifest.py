"""What a plugin is and asks for, written in the order a reader asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

JsonObject = dict[str, Any]

API_VERSION = "oarlock.dev/v1alpha1"


class Kind(NamedTuple):
    """Names a kind of document. `group` is empty for the core group."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """As documents have it: `apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version


def kind(api_version: str, name: str) -> Kind:
    """Names a kind by `apiVersion` and `kind`, as a document does: `kind("apps/v1", "Deployment")`."""
    group, _, version = api_version.rpartition("/")
    return Kind(group, version, name)


@dataclass(frozen=True)
class Mapping:
    """How a change of a watched object becomes keys of primaries. Made by its class methods."""

    type: str
    key: str | None = None
    pointer: str | None = None

    @classmethod
    def owner_reference(cls) -> Mapping:
        """The primaries among its owner references."""
        return cls("ownerReference")

    @classmethod
    def same_name(cls) -> Mapping:
        """The primary of the same namespace and name."""
        return cls("sameName")

    @classmethod
    def label(cls, key: str) -> Mapping:
        """The primary in the same namespace whose name is the value of this label."""
        return cls("label", key=key)

    @classmethod
    def annotation(cls, key: str) -> Mapping:
        """The primary in the same namespace whose name is the value of this annotation."""
        return cls("annotation", key=key)

    @classmethod
    def referenced_by(cls, pointer: str) -> Mapping:
        """Every primary that holds its name, or a list with it, at this JSON pointer."""
        return cls("referencedBy", pointer=pointer)

    @classmethod
    def all(cls) -> Mapping:
        """Every primary."""
        return cls("all")

    @classmethod
    def cache_only(cls) -> Mapping:
        """None: it is only read from the cache."""
        return cls("cacheOnly")

    def document(self) -> JsonObject:
        return _given({"type": self.type, "key": self.key, "pointer": self.pointer})


@dataclass(frozen=True)
class Primary:
    """A kind the plugin reconciles."""

    kind: Kind
    namespaces: Sequence[str] = ()
    """Only objects in these namespaces. Empty: all, and cluster-scoped kinds."""
    label_selector: str = ""
    """In `kubectl -l` notation. Empty: all."""
    field_selector: str = ""
    """In `--field-selector` notation. Empty: all."""
    manage_status: bool | None = None
    """False: the host does not manage the status of this kind, such as a built-in one. None: as the manifest says."""

    def document(self) -> JsonObject:
        selectors = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        status = {} if self.manage_status is None else {"manageStatus": self.manage_status}
        return self.kind._asdict() | _given({"namespaces": list(self.namespaces), **selectors}) | status


@dataclass(frozen=True)
class Watch:
    """Another kind the plugin reads, and which keys a change of such an object wakes."""

    kind: Kind
    map_to: Mapping | None = None
    """None: the keys whose last reconcile read the object, whether or not it existed, or a list that contained or now contains it.

    Give one only for a reason: for example when a change concerns keys that do not read the object.
    """
    namespaces: Sequence[str] = ()
    names: Sequence[str] = ()
    """Only objects with these names. Empty: all."""
    label_selector: str = ""
    primary: Kind | None = None
    """Which primary those keys are of. None: the first. Only with `map_to`."""

    def document(self) -> JsonObject:
        selected = {"namespaces": list(self.namespaces), "names": list(self.names), "labelSelector": self.label_selector}
        of = self.primary._asdict() if self.primary else None
        to = self.map_to.document() if self.map_to else None
        return self.kind._asdict() | _given({"mapTo": to, **selected, "primary": of})


@dataclass(frozen=True)
class Index:
    """An index for `cluster.list_indexed`: `Index("by-node", kind("v1", "Pod"), ".spec.nodeName")`.

    Either `json_path` or `label` is given.
    """

    name: str
    """1 to 63 characters (a-z, 0-9, -). Each index of a kind has another name."""
    kind: Kind
    """A primary or a watch."""
    json_path: str = ""
    """Field names, `['name']`, `[0]` and `[*]`: `.spec.volumes[*].configMap.name`.

    Values are strings, integers, booleans, or lists of them.
    """
    label: str = ""
    """The key of the label whose value is the value in the index."""

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z0-9-]{1,63}", self.name):
            raise ValueError(f"the name of an index is not 1 to 63 characters of a-z, 0-9 and -: {self.name!r}")
        if bool(self.json_path) == bool(self.label):
            raise ValueError(f"the index {self.name} of {self.kind.kind} needs either json_path or label")

    def document(self) -> JsonObject:
        return {"name": self.name} | self.kind._asdict() | _given({"jsonPath": self.json_path, "label": self.label})


@dataclass(frozen=True)
class PolicyRule:
    """A Kubernetes permission: `PolicyRule([""], ["configmaps"], ["get", "list", "watch", "create", "patch"])`.

    An apply needs `patch`, and `create` if the object may be new.
    """

    api_groups: Sequence[str]
    resources: Sequence[str]
    verbs: Sequence[str]
    resource_names: Sequence[str] = ()
    """Only objects with these names. Empty: all."""
    namespaces: Sequence[str] = ()
    """Only in these namespaces. Empty: everywhere, and cluster-scoped."""

    def document(self) -> JsonObject:
        rule = {"apiGroups": list(self.api_groups), "resources": list(self.resources), "verbs": list(self.verbs)}
        narrowed = {"resourceNames": list(self.resource_names), "namespaces": list(self.namespaces)}
        return rule | _given(narrowed)


@dataclass(frozen=True)
class SafeRequest:
    """A request that changes nothing although its method is not GET or HEAD: it may go out in a dry run."""

    method: str
    path: str
    """The whole path, or its end after a `*`."""


@dataclass(frozen=True)
class HttpAccess:
    """Where the plugin sends HTTP requests."""

    origins: Sequence[str] = ()
    """Scheme, host and port, without a path."""
    origins_from_config: Sequence[str] = ()
    """Keys of the configuration whose values are URLs: their origins."""
    safe_requests: Sequence[SafeRequest] = ()

    def document(self) -> JsonObject:
        return _given(
            {
                "origins": list(self.origins),
                "originsFromConfig": list(self.origins_from_config),
                "safeRequests": [{"method": safe.method, "path": safe.path} for safe in self.safe_requests],
            }
        )


@dataclass(frozen=True)
class AdmissionRule:
    """What the plugin answers at admission, in the shape of the webhook API."""

    operations: Sequence[str]
    api_groups: Sequence[str]
    api_versions: Sequence[str]
    resources: Sequence[str]
    scope: str | None = None
    object_selector: JsonObject | None = None
    namespace_selector: JsonObject | None = None
    match_conditions: Sequence[JsonObject] = ()
    match_policy: str | None = None
    failure_policy: str | None = None
    reinvocation_policy: str | None = None
    side_effects: str | None = None
    timeout_seconds: int | None = None
    validate: bool = False
    """Refuse what differs, instead of changing it."""

    def document(self) -> JsonObject:
        rule = {
            "operations": list(self.operations),
            "apiGroups": list(self.api_groups),
            "apiVersions": list(self.api_versions),
            "resources": list(self.resources),
        }
        return rule | _given(
            {
                "scope": self.scope,
                "objectSelector": self.object_selector,
                "namespaceSelector": self.namespace_selector,
                "matchConditions": list(self.match_conditions),
                "matchPolicy": self.match_policy,
                "failurePolicy": self.failure_policy,
                "reinvocationPolicy": self.reinvocation_policy,
                "sideEffects": self.side_effects,
                "timeoutSeconds": self.timeout_seconds,
                "validate": self.validate,
            }
        )


@dataclass(frozen=True)
class Manifest:
    """The answer to `describe`.

    What it asks for is granted by a person (`oarlock grant` prints the file); the host refuses the plugin while the grant is
    smaller. `name` is a DNS label of at most 40 characters that stays the same from version to version: it names the field
    manager and the finalizer.
    """

    name: str
    version: str
    description: str = ""
    """One sentence for people who list plugins."""
    primaries: Sequence[Kind | Primary] = ()
    watches: Sequence[Watch] = ()
    permissions: Sequence[PolicyRule] = ()
    http: HttpAccess = field(default_factory=HttpAccess)
    admission: Sequence[AdmissionRule] = ()
    config: dict[str, JsonObject] | None = None
    """Keys of the configuration, each with the JSON Schema of its value. Once it is given, other keys are refused."""
    required_config: Sequence[str] = ()
    """Keys that must be set."""
    cleanup: bool = False
    """Objects go only when `actual` says nothing exists any more: the host keeps a finalizer on them."""
    manage_status: bool = False
    """The host keeps `status.observedGeneration` and the `Ready` condition. Of two plugins for a kind only one may."""
    workers: int = 2
    """How many keys are reconciled at the same time, 1 to 8. A grant may say more."""
    resync_seconds: int = 30
    """Every key is reconciled again after this long although nothing changed. At least 1."""
    conversions: Sequence[str] = ()
    """The definitions between whose versions the method `convert` converts, each by its name: `networks.example.com`."""
    indexes: Sequence[Index] = ()
    """The indexes by which `cluster.list_indexed` lists."""

    def document(self) -> JsonObject:
        """The JSON document, as `manifest.schema.json` has it."""
        primaries = [Primary(one) if isinstance(one, Kind) else one for one in self.primaries]
        return {
            "apiVersion": API_VERSION,
            "kind": "PluginManifest",
            "name": self.name,
            "version": self.version,
            "primaries": [primary.document() for primary in primaries],
            "workers": self.workers,
            "resyncSeconds": self.resync_seconds,
        } | _given(
            {
                "description": self.description,
                "watches": [watch.document() for watch in self.watches],
                "indexes": [index.document() for index in self.indexes],
                "admission": [rule.document() for rule in self.admission],
                "conversions": list(self.conversions),
                "permissions": [rule.document() for rule in self.permissions],
                "http": self.http.document(),
                "cleanup": self.cleanup,
                "manageStatus": self.manage_status,
                "config": self._config(),
            }
        )

    def _config(self) -> JsonObject | None:
        if self.config is None and not self.required_config:
            return None
        known = self.config or {}
        missing = [key for key in self.required_config if key not in known]
        if missing:
            raise ValueError(f"required_config names keys that config does not declare: {', '.join(missing)}")
        schema = {"type": "object", "additionalProperties": False, "properties": known}
        return schema | _given({"required": list(self.required_config)})


def _given(fields: JsonObject) -> JsonObject:
    """Without what was left at its default."""
    return {name: value for name, value in fields.items() if value is not None and value is not False and value not in ("", [], {})}
