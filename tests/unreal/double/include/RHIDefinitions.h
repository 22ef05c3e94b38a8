// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

enum class ERHIInterfaceType { Hidden, Null, D3D11, D3D12, Vulkan, Metal, Agx, OpenGL };
