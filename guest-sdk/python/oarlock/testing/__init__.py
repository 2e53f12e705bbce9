"""Runs a reconciler in plain unit tests, as the host would: `Runner(Greeter, an_object).reconcile()`.

The world is small and in memory: objects, applied documents, a cache with a clock, scripted HTTP. It refuses what the host would refuse
(kinds and origins the manifest does not ask for, writes in a dry run). It is no API server: no schemas, no defaults, no admission by
others, no conflicts between field managers, and of strategic merge only the lists that the built-in kinds merge by a well-known key.
"""

from oarlock.testing.runner import Report, Runner
from oarlock.testing.world import LogLine

__all__ = ["LogLine", "Report", "Runner"]
