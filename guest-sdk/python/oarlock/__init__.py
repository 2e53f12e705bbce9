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
from oarlock.errors import DeniedError, OarlockError, TerminalError, TransientError
from oarlock.manifest import (
    AdmissionRule,
    HttpAccess,
    Kind,
    Manifest,
    Mapping,
    PolicyRule,
    Primary,
    SafeRequest,
    Watch,
    kind,
)
from oarlock.reconciler import Reconciler, reconciler
from oarlock.shapes import from_json, to_json

__all__ = [
    "AdmissionRule",
    "Apply",
    "Change",
    "Context",
    "Create",
    "Delete",
    "DeniedError",
    "Event",
    "HttpAccess",
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
    "kind",
    "merge",
    "object_ref",
    "reconciler",
    "to_json",
]
