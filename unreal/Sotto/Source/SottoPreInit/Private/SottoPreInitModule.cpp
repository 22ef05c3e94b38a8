#include "CoreMinimal.h"
#include "IVulkanDynamicRHI.h"
#include "Misc/ConfigCacheIni.h"
#include "Modules/ModuleManager.h"

/**
 * Asks for the Vulkan extension that lets models run in the renderer's scheduling context (CiG).
 *
 * Extensions can only be added before the renderer creates its device, hence a module of its own that is
 * loaded after the configuration and before the renderer. A driver that lacks the extension ignores the
 * request. The function below adds no structure to the device's pNext chain, which would reserve external
 * queues: a driver that requires the structure refuses CiG, and the library uses the next level of sharing.
 * Unreal 5.3 and 5.4 have only this function. Newer versions have an overload that takes a features structure
 * (FVulkanRHIExternalDeviceExtensionBase), which this module does not use yet.
 */
class FSottoPreInitModule : public IModuleInterface
{
public:
    virtual void StartupModule() override
    {
        bool bShareGpu = false;
        GConfig->GetBool(TEXT("/Script/SottoRuntime.SottoSettings"), TEXT("bShareGpu"), bShareGpu, GGameIni);
        if (bShareGpu)
        {
            const TArray<const ANSICHAR*> Extensions = {"VK_NV_external_compute_queue"};
            IVulkanDynamicRHI::AddEnabledDeviceExtensionsAndLayers(
                Extensions, TArrayView<const ANSICHAR* const>()
            );
        }
    }
};

IMPLEMENT_MODULE(FSottoPreInitModule, SottoPreInit)
