// One engine of the game: reports frames, drains events, loads models.
using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Threading.Tasks;
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
    public sealed partial class SottoRuntime : MonoBehaviour
    {
        static readonly List<SottoRuntime> Live = new List<SottoRuntime>();
        static readonly WaitForEndOfFrame EndOfFrame = new WaitForEndOfFrame();

        [Tooltip("Empty: the asset Resources/SottoSettings, or the built-in defaults.")]
        public SottoSettings settings;

        readonly Dictionary<string, SottoAnswer> _loads = new Dictionary<string, SottoAnswer>();
        readonly Queue<Action> _later = new Queue<Action>(); // locked: any thread may add
        SottoHandlers _received;
        Action<SottoEvent> _others;
        SottoGraphicsSharing _graphics;
        Task<SottoStore> _store; // null: not opened yet
        int _frame = -1; // the frame that has begun
        bool _inFrame;

        /// <summary>Raised for events of requests that nothing awaits.</summary>
        public event Action<SottoEvent> EventReceived
        {
            add => _received.Add(value);
            remove => _received.Remove(value);
        }

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
        /// <param name="id">Id in the settings, "sotto/house", "sotto/matting" or a path. Empty: the default model.</param>
        /// <exception cref="SottoException">
        /// There is no engine, or the call is not on the main thread.
        /// </exception>
        public SottoAnswer LoadModel(string id = "")
        {
            RequireEngine("SottoRuntime.LoadModel()");
            id = UsedId(id);
            if (_loads.TryGetValue(id, out var known) && (!known.IsDone || known.Status >= 0))
                return known;
            var load = Engine.NewAnswer(false, default);
            _loads[id] = load;
            load.Completed += ReportLoad;
            try
            {
                BeginLoad(id, load);
            }
            catch (Exception thrown) // such as of Path, on characters in the file
            {
                Engine.FailLater(load, Native.SOTTO_ERROR_ARGUMENT, $"model '{id}': {thrown.Message}");
            }
            return load;
        }

        /// <summary>
        /// Unloads a model. Lines that it answers or that wait for it fail; a later line loads it again.
        /// </summary>
        /// <remarks>
        /// Use it instead of <see cref="SottoEngine.UnloadModelAsync"/>, after which <see cref="LoadModel"/> still
        /// returns the load of the model that is gone.
        /// </remarks>
        /// <param name="id">As for <see cref="LoadModel"/>.</param>
        /// <exception cref="SottoException">
        /// There is no engine, or the call is not on the main thread.
        /// </exception>
        public SottoAnswer UnloadModel(string id = "")
        {
            RequireEngine("SottoRuntime.UnloadModel()");
            id = UsedId(id);
            if (_loads.TryGetValue(id, out var load) && load.Request == 0)
            {
                load.Cancel();
                Engine.FailLater(
                    load, Native.SOTTO_ERROR_CANCELLED, "the model was unloaded while its file was being copied");
            }
            _loads.Remove(id);
            return Engine.UnloadModelAsync(id);
        }

        /// <summary>Opens the store of the settings once, on a thread of the pool; characters share it.</summary>
        /// <remarks>The runtime closes it together with the engine.</remarks>
        /// <exception cref="SottoException">
        /// There is no engine, or the call is not on the main thread. The task fails if the store cannot be opened.
        /// </exception>
        public Task<SottoStore> OpenStoreAsync()
        {
            RequireEngine("SottoRuntime.OpenStoreAsync()");
            if (_store == null || _store.IsFaulted)
                _store = SottoStore.OpenAsync(
                    Path.Combine(Application.persistentDataPath, SottoFiles.Folder), settings.memoryStore,
                    settings.embeddingDim);
            return _store;
        }

        /// <summary>Whether LoadModel would return this load: it has not failed, and the model was not unloaded.</summary>
        internal bool IsCurrent(SottoAnswer load) => _loads.ContainsValue(load);

        /// <summary>Calls an action on the main thread, in the next frame. Any thread.</summary>
        internal void CallLater(Action action)
        {
            lock (_later)
                _later.Enqueue(action);
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
            CallQueued();
            if (Engine == null)
                return;
            BeginFrame();
            _graphics?.Update(Time.realtimeSinceStartup);
            Engine.Drain(_others);
            UploadTexture();
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
            _sessions.Clear();
            engine?.Dispose(); // cancels what runs, also a load; waits at most about 100 ms
            EndTextures();
            CloseStore();
        }

        // Waits for the disk if the store is open; one that is still being opened is closed afterwards.
        void CloseStore()
        {
            var store = _store;
            _store = null;
            if (store == null)
                return;
            if (store.Status == TaskStatus.RanToCompletion)
                store.Result.Dispose();
            else
                store.ContinueWith(
                    opened => opened.Result.Dispose(), System.Threading.CancellationToken.None,
                    TaskContinuationOptions.OnlyOnRanToCompletion, TaskScheduler.Default);
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
            var entry = settings.Find(id) ?? new SottoModelEntry { id = id };
            var file = string.IsNullOrEmpty(entry.file) ? EmbeddedFile(id) : entry.file;
            if (SottoFiles.NeedsCopy(file))
                StartCoroutine(CopyAndLoad(entry, file, load));
            else
                Submit(entry, file, load);
        }

        IEnumerator CopyAndLoad(SottoModelEntry entry, string file, SottoAnswer load)
        {
            var problem = "";
            yield return StartCoroutine(SottoFiles.Copy(file, reason => problem = reason));
            if (Engine == null || load.IsDone || load.IsCancelled)
                yield break;
            if (problem.Length > 0)
                Engine.FailLater(load, Native.SOTTO_ERROR_NOT_FOUND, $"model '{entry.id}': {problem}");
            else
                Submit(entry, file, load);
        }

        void Submit(SottoModelEntry entry, string file, SottoAnswer load)
        {
            var path = SottoFiles.PathOf(file);
            if (path.Length > 0 && !File.Exists(path))
                Engine.FailLater(
                    load, Native.SOTTO_ERROR_NOT_FOUND,
                    $"model '{entry.id}': file '{path}' does not exist; put it into Assets/StreamingAssets/"
                    + $"{SottoFiles.Folder}, or correct the file in the Sotto settings");
            else
                Engine.StartLoad(load, entry.ToModel(path));
        }

        // An embedded model in StreamingAssets, if the game ships it there; else "": the library has it beside itself.
        static string EmbeddedFile(string id)
        {
            var file = SottoFiles.EmbeddedFile(id);
            return SottoFiles.ArePacked || File.Exists(SottoFiles.PathOf(file)) ? file : "";
        }

        void ReportLoad(SottoAnswer load)
        {
            if (load.Status < 0 && load.Status != Native.SOTTO_ERROR_CANCELLED)
                Debug.LogError("Sotto could not load a model: " + load.Error, this);
        }

        void Raise(SottoEvent e)
        {
            foreach (var handler in _received.Each)
                try
                {
                    ((Action<SottoEvent>)handler)(e);
                }
                catch (Exception thrown)
                {
                    Library.Complain(thrown);
                }
        }

        // Calls what was queued before; an action may queue another one for the next frame.
        void CallQueued()
        {
            int queued;
            lock (_later)
                queued = _later.Count;
            for (; queued > 0; --queued)
            {
                Action next;
                lock (_later)
                    next = _later.Dequeue();
                next();
            }
        }

        string UsedId(string id) => string.IsNullOrEmpty(id) ? settings.defaultModel : id;

        // With domain reload disabled, statics survive play mode.
        [RuntimeInitializeOnLoadMethod(RuntimeInitializeLoadType.SubsystemRegistration)]
        static void ResetStatics() => Live.Clear();
    }
}
