// Constructs every module's rules for one platform and prints what they name: module, field and value, split by tabs.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using UnrealBuildTool;

static class Run
{
    static int Main(string[] arguments)
    {
        Places.Plugin = arguments[0];
        Places.Project = arguments[1];
        Places.Engine = "$(EngineDir)";
        foreach (var name in arguments.Skip(2))
        {
            var platform = UnrealTargetPlatform.Parse(name);
            var types = Assembly.GetExecutingAssembly().GetTypes();
            var rules = types.Where(type => type.IsSubclassOf(typeof(ModuleRules)));
            foreach (var type in rules.OrderBy(type => type.Name, StringComparer.Ordinal))
            {
                Places.Module = Path.Combine(Places.Plugin, "Source", type.Name);
                var target = new ReadOnlyTargetRules(platform, TargetType.Editor);
                Print(name, (ModuleRules)Activator.CreateInstance(type, target));
            }
        }
        return 0;
    }

    static void Print(string platform, ModuleRules rules)
    {
        var module = platform + "\t" + rules.GetType().Name + "\t";
        Console.WriteLine(module + "Type\t" + rules.Type);
        foreach (var field in typeof(ModuleRules).GetFields())
        {
            if (field.GetValue(rules) is List<string> values)
            {
                foreach (var value in values)
                    Console.WriteLine(module + field.Name + "\t" + value);
            }
        }
        foreach (var pair in rules.RuntimeDependencies.Paths)
            Console.WriteLine(module + "RuntimeDependencies\t" + pair.Key + "\t" + pair.Value);
        foreach (var pair in rules.AdditionalPropertiesForReceipt.Properties)
            Console.WriteLine(module + "AdditionalPropertiesForReceipt\t" + pair.Key + "\t" + pair.Value);
    }
}
