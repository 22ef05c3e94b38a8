using UnrealBuildTool;

/// <summary>Asks for a Vulkan extension before the renderer exists.</summary>
public class SottoPreInit : ModuleRules
{
    public SottoPreInit(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        PrivateDependencyModuleNames.AddRange(new[] { "Core", "RHI", "VulkanRHI" });
        AddEngineThirdPartyPrivateStaticDependencies(Target, "Vulkan");
    }
}
