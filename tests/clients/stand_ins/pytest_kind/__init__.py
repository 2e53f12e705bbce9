"""In place of pytest-kind, which starts a cluster in containers."""
