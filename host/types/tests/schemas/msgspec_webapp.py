from typing import Annotated, Any, Literal, Optional, Union
from datetime import datetime
import msgspec, json
from msgspec import Meta, Struct

class Http(Struct, tag="http"):
    path: str
class Tcp(Struct, tag="tcp"):
    port: Annotated[int, Meta(gt=0, lt=65536)]
class Rule(Struct):
    host: str
    weight: int | None = None
class WebAppSpec(Struct):
    """What should run."""
    image: Annotated[str, Meta(min_length=1, max_length=200, extra_json_schema={"x-kubernetes-validations": [{"rule": "self.contains('/')", "message": "an image has a registry"}]})]
    replicas: Annotated[int, Meta(ge=0, description="How many.")] = 1
    strategy: Literal["Recreate", "RollingUpdate"] | None = None
    port: int | str | None = None
    labels: dict[str, str] = {}
    extra: Any = None
    rules: list[Rule] = []
    hosts: set[str] = set()
    backend: Http | Tcp | None = None
    since: datetime | None = None
class WebAppStatus(Struct):
    ready: bool
class WebApp(Struct):
    """A web application."""
    spec: WebAppSpec
    status: WebAppStatus | None = None
print(json.dumps(msgspec.json.schema(WebApp)))
