#include "SottoGpu.h"

#include "DynamicRHI.h"
#include "IVulkanDynamicRHI.h"
#include "SottoConvert.h"
#include "SottoLog.h"

#if PLATFORM_WINDOWS
#  include "ID3D12DynamicRHI.h"
#endif

bool FSottoGpu::Read(FString& Reason)
{
    if (GDynamicRHI == nullptr)
    {
        Reason = TEXT("no renderer is running");
        return false;
    }
    const ERHIInterfaceType Type = GDynamicRHI->GetInterfaceType();
#if PLATFORM_WINDOWS
    if (Type == ERHIInterfaceType::D3D12)
    {
        ID3D12DynamicRHI* Rhi = GetID3D12DynamicRHI();
        D3D12.device = Rhi->RHIGetDevice(0);
        D3D12.queue = Rhi->RHIGetCommandQueue();
        return true;
    }
#endif
    if (Type == ERHIInterfaceType::Vulkan)
    {
        IVulkanDynamicRHI* Rhi = GetIVulkanDynamicRHI();
        Vulkan.instance = Rhi->RHIGetVkInstance();
        Vulkan.physical_device = Rhi->RHIGetVkPhysicalDevice();
        Vulkan.device = Rhi->RHIGetVkDevice();
        Vulkan.queue = Rhi->RHIGetGraphicsVkQueue();
        Vulkan.queue_family = Rhi->RHIGetGraphicsQueueFamilyIndex();
        Vulkan.queue_index = Rhi->RHIGetGraphicsQueueIndex();
        bVulkan = true;
        return true;
    }
    Reason = FString::Printf(
        TEXT("the renderer '%s' has no queue to share: expected Direct3D 12 or Vulkan"),
        GDynamicRHI->GetName()
    );
    return false;
}

void FSottoGpu::Attach(const SottoCore::FApi& Api, sotto_engine* Engine, const FSottoGpu& Gpu)
{
    sotto_gpu_desc Desc = SOTTO_INIT(sotto_gpu_desc);
    Desc.d3d12 = Gpu.bVulkan ? nullptr : &Gpu.D3D12;
    Desc.vulkan = Gpu.bVulkan ? &Gpu.Vulkan : nullptr;
    sotto_gpu_sharing Sharing = SOTTO_GPU_SHARING_NONE;
    if (Api.sotto_engine_attach_gpu(Engine, &Desc, &Sharing) < 0)
    {
        UE_LOG(
            LogSotto,
            Warning,
            TEXT("the graphics card is not shared: %s"),
            *SottoToString(SottoCore::View(Api.sotto_last_error()))
        );
        return;
    }
    UE_LOG(LogSotto, Log, TEXT("the graphics card is shared at level %d of 4"), static_cast<int32>(Sharing));
}
