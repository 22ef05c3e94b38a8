#pragma once

#include "Core/Api.h"
#include "CoreMinimal.h"

/** The renderer's device and queue, in the form that the library takes. */
class FSottoGpu
{
public:
    /** Reads the renderer's handles. Returns false and sets `Reason` if the renderer has none to share. */
    bool Read(FString& Reason);

    /** Hands the renderer's queue to an engine. Waits for the driver: not for the game thread. */
    static void Attach(const SottoCore::FApi& Api, sotto_engine* Engine, const FSottoGpu& Gpu);

private:
    sotto_gpu_d3d12 D3D12 = SOTTO_INIT(sotto_gpu_d3d12);
    sotto_gpu_vulkan Vulkan = SOTTO_INIT(sotto_gpu_vulkan);
    bool bVulkan = false;
};
