import json
from datetime import datetime, timedelta
from enum import Enum
from typing import Annotated, Any, Literal, Optional, Union
from pydantic import BaseModel, Field

class Mode(str, Enum):
    on = "on"
    off = "off"

class Http(BaseModel):
    type: Literal["http"] = "http"
    path: str

class Tcp(BaseModel):
    type: Literal["tcp"] = "tcp"
    port: Annotated[int, Field(gt=0, lt=65536)]

class Rule(BaseModel):
    host: str
    weight: Optional[int] = None

class WebAppSpec(BaseModel):
    """What should run."""
    image: Annotated[str, Field(min_length=1, max_length=200, json_schema_extra={"x-kubernetes-validations": [{"rule": "self.contains('/')", "message": "an image has a registry"}]})]
    replicas: int = Field(1, ge=0, description="How many.")
    strategy: Literal["Recreate", "RollingUpdate"] | None = None
    port: int | str | None = None
    labels: dict[str, str] = {}
    extra: Any = None
    open: dict[str, Any] = {}
    rules: list[Rule] = []
    hosts: set[str] = set()
    backend: Annotated[Union[Http, Tcp], Field(discriminator="type")] | None = None
    pair: tuple[str, str] | None = None
    since: datetime | None = None
    every: timedelta | None = None
    ratio: float = 0.5
    mode: Mode | None = None

class Condition(BaseModel):
    type: str
    status: Literal["True", "False", "Unknown"]

class WebAppStatus(BaseModel):
    ready: bool
    conditions: list[Condition] = []

class WebApp(BaseModel):
    """A web application."""
    spec: WebAppSpec
    status: WebAppStatus | None = None

print(json.dumps(WebApp.model_json_schema()))
