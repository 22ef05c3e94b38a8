// Runs the tests of one assembly with NUnit's own runner, and prints which failed.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.Loader;
using NUnit.Framework.Api;
using NUnit.Framework.Interfaces;
using NUnit.Framework.Internal;

/// <summary>NUnitRunner ASSEMBLY [REFERENCE...]: exit status 0 if the tests ran, passed or not.</summary>
static class NUnitRunner
{
    static int Main(string[] args)
    {
        var files = args.Select(Path.GetFullPath).ToArray();
        AssemblyLoadContext.Default.Resolving += (context, name) => Resolve(context, name, files);
        var assembly = AssemblyLoadContext.Default.LoadFromAssemblyPath(files[0]);
        var runner = new NUnitTestAssemblyRunner(new DefaultTestAssemblyBuilder());
        // On this thread, as in Unity: tests may rely on the thread that they are run on.
        var settings = new Dictionary<string, object> { { "NumberOfTestWorkers", 0 } };
        runner.Load(assembly, settings);
        var result = runner.Run(TestListener.NULL, TestFilter.Empty);
        var cases = new List<ITestResult>();
        Collect(result, cases);
        var failed = cases.Where(one => one.ResultState.Status != TestStatus.Passed).ToList();
        if (failed.Count == 0 && result.ResultState.Status != TestStatus.Passed)
            failed.Add(result); // the assembly itself, or a set-up
        foreach (var one in failed)
            Console.WriteLine($"failed: {one.FullName}: {one.ResultState}: {Flat(one.Message)} {Flat(one.StackTrace)}");
        Console.WriteLine($"{cases.Except(failed).Count()} passed, {failed.Count} failed");
        return 0;
    }

    static Assembly Resolve(AssemblyLoadContext context, AssemblyName name, string[] files)
    {
        var folders = files.Select(Path.GetDirectoryName).Distinct();
        var beside = folders.Select(folder => Path.Combine(folder, name.Name + ".dll"));
        var found = files.Where(file => Path.GetFileNameWithoutExtension(file) == name.Name)
            .Concat(beside).FirstOrDefault(File.Exists);
        return found == null ? null : context.LoadFromAssemblyPath(found);
    }

    static void Collect(ITestResult result, List<ITestResult> cases)
    {
        if (!result.Test.IsSuite)
            cases.Add(result);
        foreach (var child in result.Children)
            Collect(child, cases);
    }

    static string Flat(string text) => (text ?? "").Replace("\r", "").Replace("\n", " | ").Trim();
}
