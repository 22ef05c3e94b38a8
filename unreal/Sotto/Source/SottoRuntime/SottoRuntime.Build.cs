using UnrealBuildTool;

/// <summary>Subsystem, character component and Blueprint nodes.</summary>
public class SottoRuntime : ModuleRules
{
    public SottoRuntime(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        CppStandard = CppStandardVersion.Cpp20;
        PublicDependencyModuleNames.AddRange(new[] { "Core", "CoreUObject", "DeveloperSettings", "Engine" });
        PrivateDependencyModuleNames.AddRange(new[] { "ImageCore", "Projects", "RHI", "SottoSDK", "VulkanRHI" });
        AddEngineThirdPartyPrivateStaticDependencies(Target, "Vulkan");
        if (Target.Platform == UnrealTargetPlatform.Win64)
        {
            PrivateDependencyModuleNames.Add("D3D12RHI");
            AddEngineThirdPartyPrivateStaticDependencies(Target, "DX12");
        }
    }
}
