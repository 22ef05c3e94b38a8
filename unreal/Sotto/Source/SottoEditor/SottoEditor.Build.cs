using UnrealBuildTool;

/// <summary>A chat box in the details panel, and a check of what a build ships.</summary>
public class SottoEditor : ModuleRules
{
    public SottoEditor(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        CppStandard = CppStandardVersion.Cpp20;
        PrivateDependencyModuleNames.AddRange(new[]
        {
            "Core", "CoreUObject", "DeveloperSettings", "Engine", "PropertyEditor", "Slate", "SlateCore", "SottoRuntime",
        });
    }
}
