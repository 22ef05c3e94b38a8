"""`Runner`: the interface of mistral.rs's Python package, on Sotto's engine.

>>> from sotto.runner import ChatCompletionRequest, Runner, Which
>>> with Runner(Which.GGUF("models", "npc-Q4_K_M.gguf")) as runner:
...     request = ChatCompletionRequest([{"role": "user", "content": "Hello!"}], "default")
...     print(runner.send_chat_completion_request(request).choices[0].message.content)
"""

from __future__ import annotations

from .agents import (
    AgentPermission,
    AgentToolApproval,
    AgentToolApprovalDecision,
    AgentToolApprovalDecisionKind,
    AgentToolKind,
    AgentToolMetadata,
    AgentToolSource,
)
from .errors import RunnerError
from .models import (
    Architecture,
    DiffusionArchitecture,
    EmbeddingArchitecture,
    IsqOrganization,
    LoraAdapter,
    ModelDType,
    MultimodalArchitecture,
    MultimodalAutoMapParams,
    PagedCacheType,
    SpeechLoaderType,
    TextAutoMapParams,
    Which,
)
from .refusals import WHICH, AnyMoeConfig, AnyMoeExpertType
from .requests import (
    ChatCompletionRequest,
    CompletionRequest,
    EmbeddingRequest,
    ToolChoice,
)
from .responses import (
    AgenticToolCallRecord,
    CalledFunction,
    ChatCompletionChunkResponse,
    ChatCompletionResponse,
    Choice,
    ChunkChoice,
    CompletionChoice,
    CompletionResponse,
    Delta,
    File,
    FileSource,
    ImageChoice,
    ImageGenerationResponse,
    ImageGenerationResponseFormat,
    Logprobs,
    ResponseLogprob,
    ResponseMessage,
    SpeechGenerationResponse,
    ToolCallResponse,
    ToolCallType,
    TopLogprob,
    Usage,
)
from .runner import Runner
from .streams import ChunkStream
from .tools import (
    ApproximateUserLocation,
    CodeExecutionConfig,
    CodeExecutionPermission,
    McpClientConfigPy,
    McpServerConfigPy,
    McpServerSourcePy,
    NetworkMode,
    RequestedFile,
    SandboxPolicy,
    SearchContextSize,
    WebSearchOptions,
    WebSearchUserLocation,
)

__all__ = [
    "AgentPermission",
    "AgentToolApproval",
    "AgentToolApprovalDecision",
    "AgentToolApprovalDecisionKind",
    "AgentToolKind",
    "AgentToolMetadata",
    "AgentToolSource",
    "AgenticToolCallRecord",
    "AnyMoeConfig",
    "AnyMoeExpertType",
    "ApproximateUserLocation",
    "Architecture",
    "CalledFunction",
    "ChatCompletionChunkResponse",
    "ChatCompletionRequest",
    "ChatCompletionResponse",
    "Choice",
    "ChunkChoice",
    "ChunkStream",
    "CodeExecutionConfig",
    "CodeExecutionPermission",
    "CompletionChoice",
    "CompletionRequest",
    "CompletionResponse",
    "Delta",
    "DiffusionArchitecture",
    "EmbeddingArchitecture",
    "EmbeddingRequest",
    "File",
    "FileSource",
    "ImageChoice",
    "ImageGenerationResponse",
    "ImageGenerationResponseFormat",
    "IsqOrganization",
    "Logprobs",
    "LoraAdapter",
    "McpClientConfigPy",
    "McpServerConfigPy",
    "McpServerSourcePy",
    "ModelDType",
    "MultimodalArchitecture",
    "MultimodalAutoMapParams",
    "NetworkMode",
    "PagedCacheType",
    "RequestedFile",
    "ResponseLogprob",
    "ResponseMessage",
    "Runner",
    "RunnerError",
    "SandboxPolicy",
    "SearchContextSize",
    "SpeechGenerationResponse",
    "SpeechLoaderType",
    "TextAutoMapParams",
    "ToolCallResponse",
    "ToolCallType",
    "ToolChoice",
    "TopLogprob",
    "Usage",
    "WebSearchOptions",
    "WebSearchUserLocation",
    "Which",
]

for _name, _class in WHICH.items():
    setattr(Which, _name.removeprefix("Which."), _class)
