// Unity's own graphics device, which the native plugin sotto_unity hands to engines.
using System;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>State of Unity's graphics device, for <see cref="SottoEngine.AttachGraphics"/>.</summary>
    public enum SottoGraphicsState
    {
        /// <summary>The plugin sotto_unity is missing, or of another version.</summary>
        Missing = -1,

        /// <summary>Unity did not initialise the plugin, as outside Unity.</summary>
        NotLoaded = NativeGraphics.SOTTO_UNITY_STATE_NOT_LOADED,

        /// <summary>Unity has no device yet, or destroyed it.</summary>
        NoDevice = NativeGraphics.SOTTO_UNITY_STATE_NO_DEVICE,

        /// <summary>Engines can be attached.</summary>
        Ready = NativeGraphics.SOTTO_UNITY_STATE_READY,

        /// <summary>Unity resets the device, for example after it was lost.</summary>
        Resetting = NativeGraphics.SOTTO_UNITY_STATE_RESETTING,

        /// <summary>The renderer can't be shared: it is neither Direct3D 12 nor Vulkan.</summary>
        Unsupported = NativeGraphics.SOTTO_UNITY_STATE_UNSUPPORTED,
    }

    /// <summary>Renderer that Unity draws with.</summary>
    public enum SottoRenderer
    {
        None = NativeGraphics.SOTTO_UNITY_RENDERER_NONE,
        D3D12 = NativeGraphics.SOTTO_UNITY_RENDERER_D3D12,
        Vulkan = NativeGraphics.SOTTO_UNITY_RENDERER_VULKAN,
        Other = NativeGraphics.SOTTO_UNITY_RENDERER_OTHER,
    }

    /// <summary>Unity's graphics device, as <see cref="SottoGraphics.Describe"/> found it.</summary>
    public readonly struct SottoGraphicsInfo
    {
        /// <summary>Whether engines can be attached.</summary>
        public readonly SottoGraphicsState State;

        /// <summary>What Unity draws with.</summary>
        public readonly SottoRenderer Renderer;

        /// <summary>Number of devices so far. An increase means that engines must be attached again.</summary>
        public readonly uint Generation;

        /// <summary>Whether the device was created with all that <see cref="SottoGpuSharing.Cig"/> needs.</summary>
        public readonly bool IsCigPrepared;

        /// <summary>
        /// Reason why <see cref="State"/> is not Ready or, if it is, why <see cref="IsCigPrepared"/> is false.
        /// </summary>
        public readonly string Reason;

        internal SottoGraphicsInfo(in sotto_unity_graphics_info info)
        {
            State = (SottoGraphicsState)info.state;
            Renderer = (SottoRenderer)info.renderer;
            Generation = info.generation;
            IsCigPrepared = info.cig_prepared != 0;
            Reason = Utf8.Copy(info.reason);
        }

        internal SottoGraphicsInfo(string missing)
        {
            State = SottoGraphicsState.Missing;
            Renderer = SottoRenderer.None;
            Generation = 0;
            IsCigPrepared = false;
            Reason = missing;
        }
    }

    /// <summary>Unity's graphics device. Any method may be called from any thread.</summary>
    public static unsafe class SottoGraphics
    {
        internal const string LibraryName = "sotto_unity";

        /// <summary>Describes the device. Never waits, never throws; also if the plugin is missing.</summary>
        public static SottoGraphicsInfo Describe()
        {
            var missing = FindPlugin();
            if (missing.Length > 0)
                return new SottoGraphicsInfo(missing);
            var info = new sotto_unity_graphics_info { struct_size = (uint)sizeof(sotto_unity_graphics_info) };
            NativeGraphics.sotto_unity_graphics(&info);
            return new SottoGraphicsInfo(info);
        }

        /// <summary>Returns why the plugin can't be called; empty if it can.</summary>
        internal static string FindPlugin()
        {
            try
            {
                var abi = NativeGraphics.sotto_unity_abi();
                return abi == NativeGraphics.SOTTO_UNITY_ABI
                    ? ""
                    : "invalid sotto_unity plugin ABI '" + abi + "': expected " + NativeGraphics.SOTTO_UNITY_ABI
                        + "; restart the Unity editor after an update of the package";
            }
            catch (DllNotFoundException)
            {
                return "missing plugin 'sotto_unity': expected it beside the library 'sotto'; "
                    + "install the whole package, or attach with AttachD3D12 or AttachVulkan";
            }
            catch (EntryPointNotFoundException)
            {
                return "invalid plugin 'sotto_unity': expected one of this package's version; "
                    + "restart the Unity editor after an update of the package";
            }
            catch (BadImageFormatException)
            {
                return "invalid plugin 'sotto_unity': expected a 64-bit library of this processor; "
                    + "check its platform settings in the Unity editor";
            }
        }
    }

    public sealed unsafe partial class SottoEngine
    {
        /// <summary>Shares the GPU that Unity draws with, from now on. Waits for the driver: call it while loading.</summary>
        /// <remarks>
        /// The engine is detached before Unity destroys or resets its device. Attach it again when
        /// <see cref="SottoGraphicsInfo.Generation"/> has increased.
        /// </remarks>
        /// <param name="minSharing">Fails with a level that is less close. None: accepts any level.</param>
        /// <returns>The sharing level; <see cref="DescribeJson"/> has the reason why it is no closer.</returns>
        /// <exception cref="SottoException">
        /// The plugin is missing, Unity has no device that can be shared, or the level is below
        /// <paramref name="minSharing"/>. The message has the reason.
        /// </exception>
        public SottoGpuSharing AttachGraphics(SottoGpuSharing minSharing = SottoGpuSharing.None)
        {
            var missing = SottoGraphics.FindPlugin();
            if (missing.Length > 0)
                throw new SottoException(Native.SOTTO_ERROR_UNSUPPORTED, missing);
            int sharing;
            CheckGraphics(NativeGraphics.sotto_unity_attach(_engine, (int)minSharing, &sharing));
            return (SottoGpuSharing)sharing;
        }

        /// <summary>Ends the sharing. Waits for the running step; false: the engine was not attached.</summary>
        public bool DetachGraphics()
        {
            if (SottoGraphics.FindPlugin().Length > 0)
                return false;
            var status = NativeGraphics.sotto_unity_detach(_engine);
            return status != Native.SOTTO_ERROR_STATE && CheckGraphics(status) >= 0;
        }

        static int CheckGraphics(int status) =>
            status >= 0
                ? status
                : throw new SottoException(status, Utf8.Copy(NativeGraphics.sotto_unity_last_error()));
    }
}
