using System;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>How closely models and renderer share a GPU. A higher value is closer.</summary>
    public enum SottoGpuSharing
    {
        None = Native.SOTTO_GPU_SHARING_NONE,
        Cpu = Native.SOTTO_GPU_SHARING_CPU,
        Vulkan = Native.SOTTO_GPU_SHARING_VULKAN,
        Cuda = Native.SOTTO_GPU_SHARING_CUDA,
        Cig = Native.SOTTO_GPU_SHARING_CIG,
    }

    public sealed unsafe partial class SottoEngine
    {
        /// <summary>Shares the GPU of a Direct3D 12 renderer. Waits for the driver.</summary>
        /// <param name="device">Its ID3D12Device. Must live until <see cref="DetachGpu"/>.</param>
        /// <param name="queue">The direct ID3D12CommandQueue that it draws with. Must live as long.</param>
        /// <param name="luid">LUID of its adapter. 0: read from the device.</param>
        /// <param name="minSharing">Fails with a level that is less close. None: accepts any level.</param>
        /// <returns>
        /// The sharing level; <see cref="DescribeJson"/> has the reason why it is no closer.
        /// </returns>
        public SottoGpuSharing AttachD3D12(
            IntPtr device, IntPtr queue, ulong luid = 0, SottoGpuSharing minSharing = SottoGpuSharing.None)
        {
            var d3d12 = new sotto_gpu_d3d12
            {
                struct_size = (uint)sizeof(sotto_gpu_d3d12),
                device = (void*)device,
                queue = (void*)queue,
                luid = luid,
            };
            return Attach(new sotto_gpu_desc { d3d12 = &d3d12 }, minSharing);
        }

        /// <summary>Shares the GPU of a Vulkan renderer. Waits for the driver.</summary>
        /// <param name="getInstanceProcAddr">Its vkGetInstanceProcAddr. Zero: the system's.</param>
        /// <remarks>All handles must live until <see cref="DetachGpu"/>.</remarks>
        public SottoGpuSharing AttachVulkan(
            IntPtr instance, IntPtr physicalDevice, IntPtr device, IntPtr queue, uint queueFamily = 0,
            uint queueIndex = 0, IntPtr getInstanceProcAddr = default, SottoGpuSharing minSharing = SottoGpuSharing.None)
        {
            var vulkan = new sotto_gpu_vulkan
            {
                struct_size = (uint)sizeof(sotto_gpu_vulkan),
                queue_family = queueFamily,
                instance = (void*)instance,
                physical_device = (void*)physicalDevice,
                device = (void*)device,
                queue = (void*)queue,
                queue_index = queueIndex,
                get_instance_proc_addr = getInstanceProcAddr,
            };
            return Attach(new sotto_gpu_desc { vulkan = &vulkan }, minSharing);
        }

        /// <summary>
        /// Ends the sharing; call it before the renderer's queue is destroyed. Waits. Returns false if
        /// nothing was shared.
        /// </summary>
        public bool DetachGpu()
        {
            var status = Native.sotto_engine_detach_gpu(_engine);
            return status != Native.SOTTO_ERROR_STATE && Check(status) >= 0;
        }

        SottoGpuSharing Attach(sotto_gpu_desc gpu, SottoGpuSharing minSharing)
        {
            gpu.struct_size = (uint)sizeof(sotto_gpu_desc);
            gpu.min_sharing = (int)minSharing;
            int rung;
            Check(Native.sotto_engine_attach_gpu(_engine, &gpu, &rung));
            return (SottoGpuSharing)rung;
        }
    }
}
