#include "CoreMinimal.h"
#include "IVulkanDynamicRHI.h"
#include "Misc/ConfigCacheIni.h"
#include "Modules/ModuleManager.h"

/**
 * Asks for the Vulkan extension that lets models run in the renderer's scheduling context (CiG).
 *
 * Extensions can only be added before the renderer creates its device, hence a module of its own that is
 * loaded after the configuration and before the renderer. A driver that lacks the extension ignores the
 * request. Unreal has no way to add the structure that reserves external queues to the device's pNext chain,
 * so that a driver which insists on it refuses CiG; the library then uses the next level of sharing.
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
