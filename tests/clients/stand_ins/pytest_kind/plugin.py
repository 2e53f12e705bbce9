"""The options of pytest-kind that suites read."""


def pytest_addoption(parser):
    parser.addoption("--keep-cluster", action="store_true")
