"""Compares the members of enums."""

from mistralrs import AgentPermission, Architecture, ModelDType, ToolChoice

result = {
    "choice": [str(one) for one in (ToolChoice.NoTools, ToolChoice.Auto)],
    "dtype": [str(one) for one in (ModelDType.Auto, ModelDType.BF16, ModelDType.F16, ModelDType.F32)],
    "permission": [str(one) for one in (AgentPermission.Auto, AgentPermission.Ask, AgentPermission.Deny)],
    "architectures": [hasattr(Architecture, one) for one in ("Llama", "Qwen3", "GptOss", "SmolLm3", "Zz")],
}
