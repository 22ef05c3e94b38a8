// A card handed over through the Unity runtime's class. No card is needed: nothing here computes on one.
using System;
using Sotto;
using Sotto.Interop;

static partial class Program
{
    static void Gpu(string modules)
    {
        var handle = (IntPtr)0x2800;
        using (var engine = new SottoEngine(SottoMode.PrioritizeCompute, moduleDir: modules))
        {
            Expect(!engine.DetachGpu(), "nothing is shared yet");
            Expect(engine.AttachD3D12(handle, handle, luid: 7) == SottoGpuSharing.Cpu, "a backend of the processor's");
            Throws(Native.SOTTO_ERROR_STATE, "a second card", () => engine.AttachD3D12(handle, handle, luid: 7));
            Expect(engine.DetachGpu() && !engine.DetachGpu(), "it goes once");
            Throws(Native.SOTTO_ERROR_ARGUMENT, "no queue", () => engine.AttachD3D12(handle, IntPtr.Zero, 7));
            Throws(
                Native.SOTTO_ERROR_UNSUPPORTED, "closer than can be had",
                () => engine.AttachD3D12(handle, handle, 7, SottoGpuSharing.Cig));
            Throws(
                Native.SOTTO_ERROR_ARGUMENT, "no device",
                () => engine.AttachVulkan(handle, handle, IntPtr.Zero, handle));
        }
    }
}
