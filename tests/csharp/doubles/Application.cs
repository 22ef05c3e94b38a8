// Stand-ins for UnityEngine's application, clock, screen and resources. Tests set them through Doubles.Player.
using System;
using Doubles;

namespace UnityEngine
{
    public enum RuntimePlatform
    {
        OSXEditor = 0,
        OSXPlayer = 1,
        WindowsPlayer = 2,
        WindowsEditor = 7,
        IPhonePlayer = 8,
        Android = 11,
        LinuxPlayer = 13,
        LinuxEditor = 16,
    }

    public class Application
    {
        public static event Action quitting;

        public static bool isPlaying => Player.IsPlaying;
        public static bool isBatchMode => Player.IsBatchMode;
        public static RuntimePlatform platform => Player.Platform;
        public static int targetFrameRate { get; set; } = -1;
        public static string streamingAssetsPath => Player.StreamingAssets;
        public static string persistentDataPath => Player.PersistentData;
        public static string dataPath => Player.Data;
        public static string buildGUID => Player.BuildGuid;

        internal static void RaiseQuitting() => quitting?.Invoke();
    }

    public class Time
    {
        public static int frameCount => Player.FrameCount;
        public static float unscaledDeltaTime => 1f / 60;
        public static float realtimeSinceStartup => (float)Player.Clock.Elapsed.TotalSeconds;
    }

    public sealed class Resources
    {
        public static T Load<T>(string path) where T : Object =>
            Player.Assets.TryGetValue(path, out var asset) ? asset as T : null;
    }

    public class TextAsset : Object
    {
        public TextAsset(string text) => this.text = text;
        public string text { get; }
    }

    public sealed class QualitySettings : Object
    {
        QualitySettings()
        {
        }

        public static int vSyncCount { get; set; }
    }

    public struct Resolution
    {
        public int width { get; set; }
        public int height { get; set; }
#if UNITY_2022_2_OR_NEWER
        public RefreshRate refreshRateRatio { get; set; }
#else
        public int refreshRate { get; set; } // obsolete since 2022.2
#endif
    }

#if UNITY_2022_2_OR_NEWER
    public struct RefreshRate
    {
        public uint numerator;
        public uint denominator;
        public double value => (double)numerator / denominator;
    }
#endif

    public sealed class Screen
    {
        public static Resolution currentResolution => new Resolution
        {
            width = 960,
            height = 540,
#if UNITY_2022_2_OR_NEWER
            refreshRateRatio = new RefreshRate { numerator = 60, denominator = 1 },
#else
            refreshRate = 60,
#endif
        };

        public static int width => 960;
        public static int height => 540;
    }

    public sealed class SystemInfo
    {
        public static Rendering.GraphicsDeviceType graphicsDeviceType => Player.GraphicsDevice;
    }
}

namespace UnityEngine.Rendering
{
    public enum GraphicsDeviceType
    {
        Null = 4,
        OpenGLCore = 17,
        Direct3D12 = 18,
        Vulkan = 21,
    }
}
