"""What `CONTRIB_AI_MEMORY["VECTOR_STORE"]["config"]` may hold for the Qdrant stores.

Importing this imports no client: the settings are checked before the game starts.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Config(BaseModel):
    model_config = ConfigDict(extra="forbid")

    collection_name: str = Field("memories", min_length=1)
    embedding_model_dims: int = Field(384, ge=1)


class EdgeConfig(_Config):
    path: str
    lock_wait: float = Field(20.0, ge=0)  # seconds, for another process to let go of it


class QdrantServerConfig(_Config):
    """A Qdrant server or cluster: docs/guides/operators.md has each key."""

    url: str | Annotated[list[str], Field(min_length=1)] | None = None
    host: str | None = None
    port: int = Field(6333, ge=1, le=65535)
    grpc_port: int = Field(6334, ge=1, le=65535)
    https: bool | None = None
    prefix: str | None = None
    api_key: str | None = None
    path: str | None = None
    prefer_grpc: bool = False
    timeout: int = Field(10, ge=1)
    shard_number: int | None = Field(None, ge=1)
    replication_factor: int | None = Field(None, ge=1)
    write_consistency_factor: int | None = Field(None, ge=1)
    read_consistency: Annotated[int, Field(ge=1)] | Literal["majority", "quorum", "all"] | None = (
        None
    )
    write_ordering: Literal["weak", "medium", "strong"] | None = None
    on_disk: bool | None = None
    on_disk_payload: bool | None = None
