"""Write an Oarlock reconciler in Python: what is desired, what is actual, and which patch moves one to the other."""

from oarlock import cache, cluster, config, http, merge
from oarlock.answers import (
    Apply,
    Change,
    Create,
    Delete,
    Event,
    Observation,
    Outcome,
    Patch,
    Precondition,
    object_ref,
)
from oarlock.context import Context, ObjectRef, Trigger
from oarlock.converter import keep, restore
from oarlock.errors import ConversionError, DeniedError, OarlockError, TerminalError, TransientError
from oarlock.manifest import (
    AdmissionRule,
    HttpAccess,
    Index,
    Kind,
    Manifest,
    Mapping,
    PolicyRule,
    Primary,
    SafeRequest,
    Watch,
    kind,
)
from oarlock.reconciler import Converter, Reconciler, reconciler
from oarlock.shapes import from_json, to_json

__all__ = [
    "AdmissionRule",
    "Apply",
    "Change",
    "Context",
    "ConversionError",
    "Converter",
    "Create",
    "Delete",
    "DeniedError",
    "Event",
    "HttpAccess",
    "Index",
    "Kind",
    "Manifest",
    "Mapping",
    "OarlockError",
    "ObjectRef",
    "Observation",
    "Outcome",
    "Patch",
    "PolicyRule",
    "Precondition",
    "Primary",
    "Reconciler",
    "SafeRequest",
    "TerminalError",
    "TransientError",
    "Trigger",
    "Watch",
    "cache",
    "cluster",
    "config",
    "from_json",
    "http",
    "keep",
    "kind",
    "merge",
    "object_ref",
    "reconciler",
    "restore",
    "to_json",
]
