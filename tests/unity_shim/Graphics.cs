// SottoGraphics from C#, on a double of Unity that draws with a real Vulkan device.
//
//     mono Graphics.exe CASE MODULES
//
// CASE: "present", or what is wrong with the plugin that lies on the library path.
using System;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.InteropServices;
using Sotto;
using Sotto.Interop;

static class Graphics
{
    static int _passed, _failed;

    static int Main(string[] args)
    {
        if (args[0] == "present")
            Present(args[1]);
        else
            Unusable(args[0], args[1]);
        Console.WriteLine($"{_passed} passed, {_failed} failed");
        return _failed == 0 && _passed > 0 ? 0 : 1;
    }

    static void Unusable(string expected, string modules)
    {
        var info = SottoGraphics.Describe();
        Expect(info.State == SottoGraphicsState.Missing, "the plugin is missing");
        Expect(info.Renderer == SottoRenderer.None && info.Generation == 0 && !info.IsCigPrepared, "no device");
        Expect(info.Reason.Contains(expected), info.Reason);
        using (var engine = new SottoEngine(moduleDir: modules))
        {
            Throws(Native.SOTTO_ERROR_UNSUPPORTED, expected, () => engine.AttachGraphics());
            Expect(!engine.DetachGraphics(), "nothing to detach");
        }
    }

    static void Present(string modules)
    {
        Expect(SottoGraphics.Describe().State == SottoGraphicsState.NotLoaded, "Unity has not loaded it");
        var engine = new SottoEngine(moduleDir: modules);
        Throws(Native.SOTTO_ERROR_STATE, "Unity has not loaded sotto_unity", () => engine.AttachGraphics());
        Host("unity_host_load")();
        Expect(SottoGraphics.Describe().State == SottoGraphicsState.NoDevice, "Unity is still starting");
        Host("unity_host_start")();
        var first = SottoGraphics.Describe();
        Expect(first.State == SottoGraphicsState.Ready && first.Renderer == SottoRenderer.Vulkan, "Unity draws");
        Expect(!first.IsCigPrepared && first.Reason.Contains("VK_NV_external_compute_queue"), first.Reason);
        Expect(engine.AttachGraphics() == SottoGpuSharing.Cpu, "the scripted backend computes there");
        Expect(engine.DescribeJson().Contains("\"with\":\"vulkan\""), engine.DescribeJson());
        Throws(Native.SOTTO_ERROR_STATE, "already shares", () => engine.AttachGraphics());
        Expect(engine.DetachGraphics() && !engine.DetachGraphics(), "detached once");
        Throws(Native.SOTTO_ERROR_UNSUPPORTED, "invalid gpu->min_sharing 'cig'", () =>
            engine.AttachGraphics(SottoGpuSharing.Cig));

        engine.AttachGraphics();
        Host("unity_host_restart")();
        var second = SottoGraphics.Describe();
        Expect(second.State == SottoGraphicsState.Ready && second.Generation == first.Generation + 1, "another device");
        Expect(!engine.DetachGraphics() && engine.DescribeJson().Contains("\"gpu\":null"), "detached with the first");
        engine.AttachGraphics();
        Host("unity_host_stop")();
        Expect(!engine.DetachGraphics(), "detached with the second");
        Expect(SottoGraphics.Describe().State == SottoGraphicsState.NoDevice, "Unity stopped drawing");
        engine.Dispose();
        Throws(Native.SOTTO_ERROR_STATE, "Unity destroyed its graphics device", () => engine.AttachGraphics());
        Host("unity_host_unload")();
        Expect(SottoGraphics.Describe().State == SottoGraphicsState.NotLoaded, "Unity unloaded the plugin");
    }

    // A function of the double of Unity.
    static Action Host(string name)
    {
        var assembly = AppDomain.CurrentDomain.DefineDynamicAssembly(
            new AssemblyName(name), AssemblyBuilderAccess.Run);
        var type = assembly.DefineDynamicModule(name).DefineType(name);
        type.DefinePInvokeMethod(
            name, "unity_host", MethodAttributes.Public | MethodAttributes.Static | MethodAttributes.PinvokeImpl,
            CallingConventions.Standard, typeof(void), Type.EmptyTypes, CallingConvention.Cdecl, CharSet.Ansi);
        return (Action)Delegate.CreateDelegate(typeof(Action), type.CreateType().GetMethod(name));
    }

    static void Expect(bool holds, string what)
    {
        _passed += holds ? 1 : 0;
        _failed += holds ? 0 : 1;
        if (!holds)
            Console.WriteLine("failed: " + what);
    }

    static void Throws(int status, string part, Action call)
    {
        try
        {
            call();
            Expect(false, "no exception: " + part);
        }
        catch (SottoException error)
        {
            Expect(error.Status == status && error.Message.Contains(part), error.Status + ": " + error.Message);
        }
    }
}
