// One engine of the game: reports frames, drains events, loads models.
using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using Sotto.Interop;
using UnityEngine;

namespace Sotto
{
    /// <summary>Owns an engine and gives it to every character that has the same settings.</summary>
    /// <remarks>
    /// Put it on an object of its own; the object stays when scenes change. It is created when a character
    /// needs
    /// it and the scene has none. A second runtime with the same settings removes itself and shares the
    /// first.
    /// </remarks>
    [DefaultExecutionOrder(-32000)]
    [DisallowMultipleComponent]
    [AddComponentMenu("Sotto/Sotto Runtime")]
    public sealed class SottoRuntime : MonoBehaviour
    {
        static readonly List<SottoRuntime> Live = new List<SottoRuntime>();
        static readonly WaitForEndOfFrame EndOfFrame = new WaitForEndOfFrame();

        [Tooltip("Empty: the asset Resources/SottoSettings, or the built-in defaults.")]
        public SottoSettings settings;

        readonly Dictionary<string, SottoAnswer> _loads = new Dictionary<string, SottoAnswer>();
        Action<SottoEvent> _others;
        SottoGraphicsSharing _graphics;
        int _frame = -1; // the frame that has begun
        bool _inFrame;

        /// <summary>Raised for events of requests that nothing awaits.</summary>
        public event Action<SottoEvent> EventReceived;

        /// <summary>The engine. Null if it could not be created; see <see cref="Problem"/>.</summary>
        public SottoEngine Engine { get; private set; }

        /// <summary>Why there is no engine, or "".</summary>
        public string Problem { get; private set; } = "";

        /// <summary>How closely models share the GPU that Unity draws with.</summary>
        public SottoGpuSharing GpuSharing => _graphics != null ? _graphics.Sharing : SottoGpuSharing.None;

        /// <summary>Why the GPU is not shared, or "".</summary>
        public string GpuReason => _graphics != null ? _graphics.Reason : "";

        /// <summary>Runtimes in the game, one for each settings asset.</summary>
        public static IReadOnlyList<SottoRuntime> All => Live;

        internal bool EndsAfterDrawing { get; private set; }

        /// <summary>Returns the runtime of some settings; creates it if the game has none.</summary>
        /// <param name="settings">Null: the default settings.</param>
        public static SottoRuntime For(SottoSettings settings = null)
        {
            var wanted = settings != null ? settings : SottoSettings.Default;
            foreach (var one in Live)
                if (one.settings == wanted)
                    return one;
            var made = new GameObject("Sotto Runtime");
            made.SetActive(false); // so that Awake sees the settings
            var runtime = made.AddComponent<SottoRuntime>();
            runtime.settings = wanted;
            made.SetActive(true);
            return runtime;
        }

        /// <summary>Loads a model once; characters share the load. A failed load is tried again.</summary>
        /// <param name="id">Id in the settings, "sotto/house" or a path. Empty: the default model.</param>
        /// <exception cref="SottoException">
        /// There is no engine, or the call is not on the main thread.
        /// </exception>
        public SottoAnswer LoadModel(string id = "")
        {
            RequireEngine("SottoRuntime.LoadModel()");
            if (string.IsNullOrEmpty(id))
                id = settings.defaultModel;
            if (_loads.TryGetValue(id, out var known) && (!known.IsDone || known.Status >= 0))
                return known;
            var load = Engine.NewAnswer(false, default);
            _loads[id] = load;
            load.Completed += ReportLoad;
            BeginLoad(id, load);
            return load;
        }

        /// <summary>Throws unless there is an engine and the call is on its thread.</summary>
        internal void RequireEngine(string call)
        {
            if (Engine == null)
                throw new SottoException(
                    Native.SOTTO_ERROR_STATE,
                    Problem.Length > 0 ? Problem : $"{call}: the runtime has no engine, because it was destroyed");
            Engine.RequireThread(call);
        }

        internal void EndFrame()
        {
            if (!_inFrame || Engine == null)
                return;
            _inFrame = false;
            Engine.FrameEnd();
        }

        void Awake()
        {
            if (settings == null)
                settings = SottoSettings.Default;
            foreach (var one in Live)
                if (one.settings == settings)
                {
                    enabled = false;
                    Destroy(this);
                    return;
                }
            Live.Add(this);
            transform.SetParent(null);
            DontDestroyOnLoad(gameObject);
            _others = Raise;
            CreateEngine();
        }

        void CreateEngine()
        {
            try
            {
                Engine = settings.CreateEngine();
            }
            catch (SottoException problem)
            {
                Problem = problem.Message;
                Debug.LogError("Sotto is off: " + Problem, this);
                return;
            }
            var drawn = !Application.isBatchMode
                && SystemInfo.graphicsDeviceType != UnityEngine.Rendering.GraphicsDeviceType.Null;
            EndsAfterDrawing = drawn;
            gameObject.AddComponent<SottoFrameEnd>().Runtime = this;
            if (!settings.shareGraphics || !drawn)
                return;
            _graphics = new SottoGraphicsSharing(Engine);
            _graphics.Attach(Time.realtimeSinceStartup);
        }

        void Start()
        {
            if (Engine != null && EndsAfterDrawing)
                StartCoroutine(EndDrawnFrames());
        }

        void FixedUpdate() => BeginFrame();

        void Update()
        {
            if (Engine == null)
                return;
            BeginFrame();
            _graphics?.Update(Time.realtimeSinceStartup);
            Engine.Drain(_others);
        }

        void OnApplicationQuit() => Close();

        void OnDestroy()
        {
            Live.Remove(this);
            Close();
        }

        void Close()
        {
            var engine = Engine;
            Engine = null;
            _graphics = null;
            _loads.Clear();
            engine?.Dispose(); // cancels what runs, also a load; waits at most about 100 ms
        }

        void BeginFrame()
        {
            if (Engine == null || !settings.reportFrames || _frame == Time.frameCount)
                return;
            EndFrame(); // the last frame was not drawn
            _frame = Time.frameCount;
            _inFrame = true;
            Engine.FrameBegin((uint)Math.Max(1, settings.busyCores), Period());
        }

        IEnumerator EndDrawnFrames()
        {
            while (Engine != null)
            {
                yield return EndOfFrame;
                EndFrame();
            }
        }

        // Nanoseconds from frame to frame that the game aims at; 0: unknown.
        static ulong Period()
        {
            var rate = QualitySettings.vSyncCount > 0
                ? ScreenRate() / QualitySettings.vSyncCount
                : Application.targetFrameRate;
            return rate > 0 ? (ulong)(1e9 / rate) : 0;
        }

        static double ScreenRate() =>
#if UNITY_2022_2_OR_NEWER
            Screen.currentResolution.refreshRateRatio.value;
#else
            Screen.currentResolution.refreshRate;
#endif

        void BeginLoad(string id, SottoAnswer load)
        {
            var entry = settings.Find(id) ?? new SottoModelEntry { id = id, file = HouseFile(id) };
            if (SottoFiles.NeedsCopy(entry.file))
                StartCoroutine(CopyAndLoad(entry, load));
            else
                Submit(entry, load);
        }

        IEnumerator CopyAndLoad(SottoModelEntry entry, SottoAnswer load)
        {
            yield return StartCoroutine(SottoFiles.Copy(entry.file));
            if (Engine != null)
                Submit(entry, load);
        }

        void Submit(SottoModelEntry entry, SottoAnswer load)
        {
            var path = SottoFiles.PathOf(entry.file);
            if (path.Length > 0 && !File.Exists(path))
                Engine.FailLater(
                    load, Native.SOTTO_ERROR_NOT_FOUND,
                    $"model '{entry.id}': file '{path}' does not exist; put it into Assets/StreamingAssets/"
                    + $"{SottoFiles.Folder}, or correct the file in the Sotto settings");
            else
                Engine.StartLoad(load, entry.ToModel(path));
        }

        // The house model in StreamingAssets, if the game ships it there; else beside the library.
        static string HouseFile(string id) =>
            id == SottoSettings.House
            && (SottoFiles.ArePacked || File.Exists(SottoFiles.PathOf(SottoFiles.HouseFile)))
                ? SottoFiles.HouseFile : "";

        void ReportLoad(SottoAnswer load)
        {
            if (load.Status < 0 && load.Status != Native.SOTTO_ERROR_CANCELLED)
                Debug.LogError("Sotto could not load a model: " + load.Error, this);
        }

        void Raise(SottoEvent e) => EventReceived?.Invoke(e);

        // With domain reload disabled, statics survive play mode.
        [RuntimeInitializeOnLoadMethod(RuntimeInitializeLoadType.SubsystemRegistration)]
        static void ResetStatics() => Live.Clear();
    }
}
