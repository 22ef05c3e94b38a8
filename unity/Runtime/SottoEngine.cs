// The engine: create it, submit to it, drain it once a frame, dispose it.
using System;
using System.Diagnostics;
using Sotto.Interop;
using static Sotto.Interop.Utf8;

namespace Sotto
{
    /// <summary>Runs models beside the game. Create one, drain it once a frame, dispose it.</summary>
    /// <remarks>
    /// No callback runs on a thread of the engine: events arrive through <see cref="Drain"/>, which completes
    /// awaited answers, or through <see cref="TryNextEvent"/>, on the thread that calls it. The methods that
    /// return
    /// a <see cref="SottoAnswer"/> and <see cref="Drain"/> belong to the thread that created the engine;
    /// every other
    /// method may be called from any thread. After <see cref="Dispose"/> a method throws a
    /// <see cref="SottoException"/>.
    /// </remarks>
    public sealed unsafe partial class SottoEngine : IDisposable
    {
        sotto_engine* _engine;

        /// <summary>Creates an engine. Loads no module and no model yet.</summary>
        /// <param name="mode">Priority between models and frames.</param>
        /// <param name="targetTps">Tokens per second per stream to pace to. 0: no pacing.</param>
        /// <param name="vramBudget">Bytes for all models together. 0: no limit.</param>
        /// <param name="moduleDir">Folder of the backend modules. Empty: beside the library.</param>
        /// <param name="device">"cpu", "auto", "vulkan", "vulkan0", "cuda", "cuda0". Empty: "cpu".</param>
        /// <param name="flags">Engine flags.</param>
        /// <param name="maxRequests">Maximum number of live requests. 0: 65,536.</param>
        /// <param name="record">
        /// Path of a new file that records requests and scheduling decisions for <see cref="Replay"/>. The
        /// file
        /// contains the conversations' text. Empty: no recording.
        /// </param>
        /// <param name="kvSpillDir">
        /// Folder for spilled KV caches beyond <paramref name="kvSpillMemory"/>. Empty: the system's
        /// temporary
        /// folder.
        /// </param>
        /// <param name="kvSpillMemory">Bytes of spilled KV caches kept in memory. 0: 64 MiB.</param>
        /// <param name="guard">
        /// Checks requests, which fail with <c>Native.SOTTO_ERROR_BLOCKED</c>, and answers, which end before what is
        /// blocked with <see cref="SottoFinish.ContentFilter"/>. It may be disposed at once. Null: no checks.
        /// </param>
        public SottoEngine(
            SottoMode mode = SottoMode.Balance, float targetTps = 0, ulong vramBudget = 0,
            string moduleDir = "", string device = "", SottoEngineFlags flags = SottoEngineFlags.None,
            uint maxRequests = 0, string record = "", string kvSpillDir = "", ulong kvSpillMemory = 0,
            SottoGuard guard = null)
        {
            byte[] dir = Bytes(moduleDir), dev = Bytes(device), rec = Bytes(record), park = Bytes(kvSpillDir);
            fixed (byte* d = dir, v = dev, r = rec, p = park)
            {
                var desc = new sotto_engine_desc // zero is every field's default
                {
                    struct_size = (uint)sizeof(sotto_engine_desc),
                    mode = (int)mode,
                    module_dir = Str(d, dir),
                    device = Str(v, dev),
                    vram_budget = vramBudget,
                    target_tps = targetTps,
                    flags = (uint)flags,
                    max_requests = maxRequests,
                    record_path = Str(r, rec),
                    kv_spill_dir = Str(p, park),
                    kv_spill_memory = kvSpillMemory,
                    guard = guard != null ? guard.At : null,
                };
                _engine = Create(&desc);
                GC.KeepAlive(guard);
            }
            _dispatcher = new SottoDispatcher(this);
        }

        /// <summary>Creates an engine with hooks of the host: log, files, threads or profiler.</summary>
        /// <remarks>
        /// A hook is a delegate of <c>Sotto.Interop</c> through <c>Marshal.GetFunctionPointerForDelegate</c>.
        /// Keep it, and what <c>self</c> points at, while the engine lives. It runs on the engine's threads
        /// and must
        /// not throw; IL2CPP requires a static method marked <c>[MonoPInvokeCallback]</c>.
        /// </remarks>
        public SottoEngine(sotto_engine_desc* desc)
        {
            _engine = Create(desc);
            _dispatcher = new SottoDispatcher(this);
        }

        /// <summary>Version of the loaded library: major.minor.patch.</summary>
        public static string Version => Library.LoadedVersion();

        /// <summary>
        /// Replays a recording's scheduling decisions without a model. Returns JSON, see trace.h. Waits for
        /// the file.
        /// </summary>
        public static string Replay(string path)
        {
            Library.Require();
            var name = Bytes(path);
            sotto_str json;
            fixed (byte* n = name)
                Check(Native.sotto_replay(Str(n, name), &json));
            return Copy(json);
        }

        /// <summary>The system's monotonic clock in ns, the clock of frames and deadlines.</summary>
        public static ulong NowNs =>
            (ulong)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency));

        /// <summary>Loads a model. Never waits; returns the id that its events carry.</summary>
        /// <param name="id">Name of the model in requests.</param>
        /// <param name="path">The file. Empty: the id is a path, or "sotto/house".</param>
        /// <param name="backend">Name of the backend. Empty: the first available backend.</param>
        /// <param name="options">JSON object of the backend's options. Empty: all defaults.</param>
        /// <param name="user">User data, copied into each event.</param>
        /// <param name="flags">Private or None.</param>
        public ulong LoadModel(
            string id, string path = "", string backend = "", string options = "",
            ulong user = 0, SottoFlags flags = SottoFlags.None) =>
            OfModel(false, 0, id, path, backend, options, user, flags);

        /// <summary>
        /// Computes the memory of a model, and the steps that make it fit, without loading it. Never waits.
        /// </summary>
        /// <remarks>The plan is in the <c>Json</c> of the request's last event; see budget.h.</remarks>
        /// <param name="id">Name of the model.</param>
        /// <param name="budget">
        /// Bytes for this model alone. 0: the bytes that the engine's budget has left.
        /// </param>
        /// <param name="path">The file. Empty: the id is a path, or "sotto/house".</param>
        /// <param name="backend">Name of the backend. Empty: the first available backend.</param>
        /// <param name="options">JSON object of the backend's options. Empty: all defaults.</param>
        /// <param name="user">User data, copied into each event.</param>
        /// <param name="flags">Private or None.</param>
        public ulong PlanModel(
            string id, ulong budget = 0, string path = "", string backend = "", string options = "",
            ulong user = 0, SottoFlags flags = SottoFlags.None) =>
            OfModel(true, budget, id, path, backend, options, user, flags);

        /// <summary>Unloads a model. Never waits; returns the id that its events carry.</summary>
        public ulong UnloadModel(string id, SottoFlags flags = SottoFlags.None)
        {
            var name = Bytes(id);
            ulong request;
            fixed (byte* n = name)
                Check(Native.sotto_engine_unload_model(_engine, Str(n, name), (uint)flags, &request));
            return request;
        }

        /// <summary>Submits a request. Never waits; returns the id that its events carry.</summary>
        /// <param name="op">The operation.</param>
        /// <param name="body">JSON in the OpenAI schema. The last event reports what is invalid.</param>
        /// <param name="user">User data, copied into each event.</param>
        /// <param name="flags">Request flags.</param>
        /// <param name="targetTps">Pace in tokens per second. 0: the engine's.</param>
        /// <param name="priority">Scheduling priority.</param>
        /// <param name="deadlineNs">Deadline of the first token on <see cref="NowNs"/>. 0: none.</param>
        public ulong Submit(
            SottoOp op, string body, ulong user = 0, SottoFlags flags = SottoFlags.None, float targetTps = 0,
            SottoPriority priority = SottoPriority.Normal, ulong deadlineNs = 0)
        {
            var bytes = Bytes(body);
            fixed (byte* data = bytes)
                return Submit(op, Str(data, bytes), user, flags, targetTps, priority, deadlineNs);
        }

        ulong Submit(
            SottoOp op, sotto_str body, ulong user, SottoFlags flags, float targetTps, SottoPriority priority,
            ulong deadlineNs)
        {
            var desc = new sotto_request_desc
            {
                struct_size = (uint)sizeof(sotto_request_desc),
                op = (int)op,
                body = body,
                user = user,
                flags = (uint)flags,
                target_tps = targetTps,
                priority = (int)priority,
                deadline_ns = deadlineNs,
            };
            ulong request;
            Check(Native.sotto_engine_submit(_engine, &desc, &request));
            return request;
        }

        /// <summary>Cancels a request. Returns false if no such request is live.</summary>
        public bool Cancel(ulong request) => IsLive(Native.sotto_engine_cancel(_engine, request));

        /// <summary>Cancels a private request and discards its remaining events.</summary>
        public bool Drop(ulong request) => IsLive(Native.sotto_engine_discard_request(_engine, request));

        /// <summary>
        /// Changes a request's pace from the next token on. Returns false if no such request is live.
        /// </summary>
        /// <param name="request">Id that submitting returned.</param>
        /// <param name="tps">Tokens per second. 0: the engine's.</param>
        public bool SetRequestTps(ulong request, float tps) =>
            IsLive(Native.sotto_engine_set_request_tps(_engine, request, tps));

        /// <summary>
        /// Takes the oldest event. Returns false if the queue is empty. Never waits; allocates only the
        /// event's strings.
        /// </summary>
        public bool TryNextEvent(out SottoEvent happened)
        {
            var e = new sotto_event { struct_size = (uint)sizeof(sotto_event) };
            var found = Found(Native.sotto_engine_next_event(_engine, &e));
            happened = found ? new SottoEvent(e) : default;
            return found;
        }

        /// <summary>Sets the priority between models and frames, from the next slice on.</summary>
        public void SetMode(SottoMode mode) => Check(Native.sotto_engine_set_mode(_engine, (int)mode));

        /// <summary>Sets the pace of each stream in tokens per second. 0: no pacing.</summary>
        public void SetTargetTps(float tps) => Check(Native.sotto_engine_set_target_tps(_engine, tps));

        /// <summary>Sets the memory budget of all models together, in bytes. 0: no limit.</summary>
        /// <remarks>
        /// If more is in use, idle models are evicted and decoding models release slots for a while.
        /// </remarks>
        public void SetVramBudget(ulong bytes) => Check(Native.sotto_engine_set_vram_budget(_engine, bytes));

        /// <summary>Marks the start of a frame. Never waits, never allocates.</summary>
        /// <param name="busyCores">Cores the game keeps busy during its work. 0: one.</param>
        /// <param name="periodNs">Target time from one frame to the next, in ns. 0: unknown.</param>
        /// <param name="timeNs">Start on <see cref="NowNs"/>, in ns. 0: now.</param>
        public void FrameBegin(uint busyCores = 0, ulong periodNs = 0, ulong timeNs = 0)
        {
            var frame = new sotto_frame_begin_desc
            {
                struct_size = (uint)sizeof(sotto_frame_begin_desc),
                busy_cores = busyCores,
                period_ns = periodNs,
                time_ns = timeNs,
            };
            Check(Native.sotto_engine_frame_begin(_engine, &frame));
        }

        /// <summary>Marks the end of the game's work on a frame. Never waits, never allocates.</summary>
        /// <param name="gpuMs">GPU time of the frame in ms. 0: unknown.</param>
        /// <param name="busyMs">CPU time of the frame's work in ms. 0: from begin to end.</param>
        /// <param name="timeNs">End on <see cref="NowNs"/>, in ns. 0: now.</param>
        public void FrameEnd(float gpuMs = 0, float busyMs = 0, ulong timeNs = 0)
        {
            var frame = new sotto_frame_end_desc
            {
                struct_size = (uint)sizeof(sotto_frame_end_desc),
                gpu_ms = gpuMs,
                busy_ms = busyMs,
                time_ns = timeNs,
            };
            Check(Native.sotto_engine_frame_end(_engine, &frame));
        }

        /// <summary>Returns the engine's statistics. Never waits, never allocates.</summary>
        public SottoStats Stats()
        {
            var told = new sotto_stats { struct_size = (uint)sizeof(sotto_stats) };
            Check(Native.sotto_engine_stats(_engine, &told));
            return new SottoStats(told);
        }

        /// <summary>
        /// Describes versions, device and modules as a JSON object. The first call waits for modules to load.
        /// </summary>
        public string DescribeJson()
        {
            sotto_str json;
            Check(Native.sotto_engine_describe(_engine, &json));
            return Copy(json);
        }

        /// <summary>Lists the models that are ready, as a JSON array.</summary>
        public string ModelsJson()
        {
            sotto_str json;
            Check(Native.sotto_engine_list_models(_engine, &json));
            return Copy(json);
        }

        /// <summary>
        /// Reports memory by purpose and by model as a JSON object, see budget.h. Call it once a second, not
        /// each frame.
        /// </summary>
        public string MemoryJson()
        {
            sotto_str json;
            Check(Native.sotto_engine_memory(_engine, &json));
            return Copy(json);
        }

        /// <summary>
        /// Cancels all requests and frees the engine; awaited answers end as cancelled. A second call does
        /// nothing.
        /// </summary>
        public void Dispose()
        {
            LiveHandles.Destroy((IntPtr)_engine); // NULL or a destroyed engine has no effect
            _engine = null;
            GC.SuppressFinalize(this);
            if (_dispatcher != null && _dispatcher.IsOnThread)
                _dispatcher.EndAll();
        }

        // Destroying joins worker threads, for which a finalizer must not wait: logs a warning and leaves the
        // engine to LiveHandles.
        ~SottoEngine()
        {
            if (_engine == null)
                return;
            try
            {
                Library.Complain("SottoEngine was never disposed");
            }
            catch (Exception)
            {
                // At exit, Mono closes the console before it runs finalizers; one that throws ends the process.
            }
        }

        internal bool IsDisposed => _engine == null;

        // Loads a model, or plans it.
        ulong OfModel(
            bool plan, ulong budget, string id, string path, string backend, string options, ulong user,
            SottoFlags flags)
        {
            byte[] name = Bytes(id), file = Bytes(path), by = Bytes(backend), how = Bytes(options);
            ulong request;
            fixed (byte* n = name, f = file, b = by, h = how)
            {
                var desc = new sotto_model_desc
                {
                    struct_size = (uint)sizeof(sotto_model_desc),
                    flags = (uint)flags,
                    id = Str(n, name),
                    path = Str(f, file),
                    backend = Str(b, by),
                    options = Str(h, how),
                    user = user,
                };
                Check(plan
                    ? Native.sotto_engine_plan_model(_engine, &desc, budget, &request)
                    : Native.sotto_engine_load_model(_engine, &desc, &request));
            }
            return request;
        }

        sotto_engine* Create(sotto_engine_desc* desc)
        {
            Library.Require();
            LiveHandles.DestroyUnreachable();
            sotto_engine* engine;
            Check(Native.sotto_engine_create(desc, &engine));
            LiveHandles.Add(this, (IntPtr)engine, Destroy);
            return engine;
        }

        static void Destroy(IntPtr engine) => Native.sotto_engine_destroy((sotto_engine*)engine);

        static bool Found(int status) => Check(status) != Native.SOTTO_EMPTY;

        static bool IsLive(int status) => status != Native.SOTTO_ERROR_NOT_FOUND && Check(status) >= 0;

        internal static int Check(int status) =>
            status >= 0 ? status : throw new SottoException(status, Copy(Native.sotto_last_error()));
    }
}
