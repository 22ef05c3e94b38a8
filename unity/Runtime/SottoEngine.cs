// The engine: create it, submit to it, drain it once a frame, dispose it.
using System;
using System.Diagnostics;
using Sotto.Interop;
using static Sotto.Interop.Utf8;

namespace Sotto
{
    /// <summary>Runs models beside the game. Create one, drain it once a frame, dispose it.</summary>
    /// <remarks>
    /// No callback ever runs on a foreign thread: everything arrives through <see cref="TryNextEvent"/>,
    /// on the thread that calls it. Any method may be called from any thread, also after
    /// <see cref="Dispose"/>: then it throws a <see cref="SottoException"/> and harms nothing.
    /// </remarks>
    public sealed unsafe partial class SottoEngine : IDisposable
    {
        sotto_engine* _engine;

        /// <summary>Creates an engine. Loads no module and no model yet.</summary>
        /// <param name="mode">Who comes first when the machine is short.</param>
        /// <param name="targetTps">Tokens per second per stream to pace to. 0: no pacing.</param>
        /// <param name="vramBudget">Bytes for all models together. 0: no limit.</param>
        /// <param name="moduleDir">Where backend modules are. Empty: beside the library.</param>
        /// <param name="device">"auto" or "cpu". Empty: "auto".</param>
        /// <param name="flags">How it works.</param>
        /// <param name="maxRequests">Requests that may be live at once. 0: 65,536.</param>
        /// <param name="record">
        /// A file in which to write down what is asked for, reported and decided; see <see cref="Replay"/>.
        /// It holds what was said. Empty: none.
        /// </param>
        /// <param name="kvSpillDir">
        /// A folder for what parked characters remember, where <paramref name="kvSpillMemory"/> is not enough.
        /// Empty: the system's temporary one.
        /// </param>
        /// <param name="kvSpillMemory">Bytes of memory that parked characters may take. 0: 64 MiB.</param>
        public SottoEngine(
            SottoMode mode = SottoMode.Balance, float targetTps = 0, ulong vramBudget = 0,
            string moduleDir = "", string device = "", SottoEngineFlags flags = SottoEngineFlags.None,
            uint maxRequests = 0, string record = "", string kvSpillDir = "", ulong kvSpillMemory = 0)
        {
            byte[] dir = Bytes(moduleDir), dev = Bytes(device), rec = Bytes(record), park = Bytes(kvSpillDir);
            fixed (byte* d = dir, v = dev, r = rec, p = park)
            {
                var desc = new sotto_engine_desc // what is not named is zero, and zero is the default
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
                };
                _engine = Create(&desc);
            }
        }

        /// <summary>Creates an engine that is lent the host's own log, files, threads or profiler.</summary>
        /// <remarks>
        /// A hook is a delegate of <c>Sotto.Interop</c> through <c>Marshal.GetFunctionPointerForDelegate</c>.
        /// Keep it, and what <c>self</c> points at, for as long as the engine lives. It runs on the engine's
        /// threads and must not throw; IL2CPP wants a static method marked <c>[MonoPInvokeCallback]</c>.
        /// </remarks>
        public SottoEngine(sotto_engine_desc* desc) => _engine = Create(desc);

        /// <summary>What the library calls itself: major.minor.patch.</summary>
        public static string Version => Copy(Native.sotto_version());

        /// <summary>Takes a recording's decisions again, without a model; JSON, see trace.h. Waits for the file.</summary>
        public static string Replay(string path)
        {
            var name = Bytes(path);
            sotto_str json;
            fixed (byte* n = name)
                Check(Native.sotto_replay(Str(n, name), &json));
            return Copy(json);
        }

        /// <summary>The system's monotonic clock in nanoseconds, in which frames and deadlines are told.</summary>
        public static ulong NowNs =>
            (ulong)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency));

        /// <summary>Loads a model. Never waits; returns the name its events carry.</summary>
        /// <param name="id">The name requests will use.</param>
        /// <param name="path">The file. Empty: the id is a path, or "sotto/house".</param>
        /// <param name="backend">Which backend. Empty: the first that there is.</param>
        /// <param name="options">JSON object of the backend's options. Empty: every default.</param>
        /// <param name="user">Anything. Comes back in each event.</param>
        /// <param name="flags">Private or None.</param>
        public ulong LoadModel(
            string id, string path = "", string backend = "", string options = "",
            ulong user = 0, SottoFlags flags = SottoFlags.None) =>
            OfModel(
                (desc, request) => Native.sotto_engine_load_model(_engine, desc, request),
                id, path, backend, options, user, flags);

        /// <summary>Finds out how a model would fit, without loading it. Never waits.</summary>
        /// <remarks>The plan is in the <c>Json</c> of the request's last event; see budget.h.</remarks>
        /// <param name="id">The name it would have.</param>
        /// <param name="budget">Bytes that it may take, alone. 0: what the engine has left.</param>
        /// <param name="path">The file. Empty: the id is a path, or "sotto/house".</param>
        /// <param name="backend">Which backend. Empty: the first that there is.</param>
        /// <param name="options">JSON object of the backend's options. Empty: every default.</param>
        /// <param name="user">Anything. Comes back in each event.</param>
        /// <param name="flags">Private or None.</param>
        public ulong PlanModel(
            string id, ulong budget = 0, string path = "", string backend = "", string options = "",
            ulong user = 0, SottoFlags flags = SottoFlags.None) =>
            OfModel(
                (desc, request) => Native.sotto_engine_plan_model(_engine, desc, budget, request),
                id, path, backend, options, user, flags);

        /// <summary>Frees a model. Never waits; returns the name its events carry.</summary>
        public ulong UnloadModel(string id, SottoFlags flags = SottoFlags.None)
        {
            var name = Bytes(id);
            ulong request;
            fixed (byte* n = name)
                Check(Native.sotto_engine_unload_model(_engine, Str(n, name), (uint)flags, &request));
            return request;
        }

        /// <summary>Asks for something. Never waits; returns the name its events carry.</summary>
        /// <param name="op">What is asked for.</param>
        /// <param name="body">JSON in the OpenAI schema. What is wrong with it is told by an event.</param>
        /// <param name="user">Anything. Comes back in each event.</param>
        /// <param name="flags">How to treat it.</param>
        /// <param name="targetTps">Tokens per second to pace to. 0: the engine's.</param>
        /// <param name="priority">Who is served first.</param>
        /// <param name="deadlineNs">When the answer shall have begun, on <see cref="NowNs"/>. 0: none.</param>
        public ulong Submit(
            SottoOp op, string body, ulong user = 0, SottoFlags flags = SottoFlags.None, float targetTps = 0,
            SottoPriority priority = SottoPriority.Normal, ulong deadlineNs = 0)
        {
            var bytes = Bytes(body);
            ulong request;
            fixed (byte* data = bytes)
            {
                var desc = new sotto_request_desc
                {
                    struct_size = (uint)sizeof(sotto_request_desc),
                    op = (int)op,
                    body = Str(data, bytes),
                    user = user,
                    flags = (uint)flags,
                    target_tps = targetTps,
                    priority = (int)priority,
                    deadline_ns = deadlineNs,
                };
                Check(Native.sotto_engine_submit(_engine, &desc, &request));
            }
            return request;
        }

        /// <summary>Asks a request to end. False if none of that name is live.</summary>
        public bool Cancel(ulong request) => IsLive(Native.sotto_engine_cancel(_engine, request));

        /// <summary>Cancels a private request, and drops what it would still have told.</summary>
        public bool Drop(ulong request) => IsLive(Native.sotto_engine_discard_request(_engine, request));

        /// <summary>Changes a request's pace, from the next token on. False if none of that name is live.</summary>
        /// <param name="request">The name that submitting returned.</param>
        /// <param name="tps">Tokens per second. 0: the engine's.</param>
        public bool SetRequestTps(ulong request, float tps) =>
            IsLive(Native.sotto_engine_set_request_tps(_engine, request, tps));

        /// <summary>Takes the oldest event. False when there is none left. Never waits.</summary>
        public bool TryNextEvent(out SottoEvent happened)
        {
            var e = new sotto_event { struct_size = (uint)sizeof(sotto_event) };
            var found = Found(Native.sotto_engine_next_event(_engine, &e));
            happened = found ? new SottoEvent(e) : default;
            return found;
        }

        /// <summary>Waits until the queue holds an event; false when time is up. Not for a frame.</summary>
        public bool Wait(int timeoutMs = -1) => Found(Native.sotto_engine_wait_for_events(_engine, timeoutMs));

        /// <summary>Takes the oldest event of a private request. False when time is up.</summary>
        /// <param name="timeoutMs">0: does not wait. Below 0: for as long as it takes.</param>
        public bool WaitEvent(ulong request, int timeoutMs, out SottoEvent happened)
        {
            var e = new sotto_event { struct_size = (uint)sizeof(sotto_event) };
            var found = Found(Native.sotto_engine_wait_request_event(_engine, request, timeoutMs, &e));
            happened = found ? new SottoEvent(e) : default;
            return found;
        }

        /// <summary>Waits for the end of a private request. For tools, never for a frame.</summary>
        /// <returns>The last event: the whole response is in its <c>Json</c>.</returns>
        /// <exception cref="SottoException">The request failed.</exception>
        public SottoEvent WaitDone(ulong request)
        {
            SottoEvent last;
            do
                WaitEvent(request, -1, out last);
            while (!last.IsDone);
            return last.Status >= 0 ? last : throw new SottoException(last.Status, last.Error);
        }

        /// <summary>Changes who comes first, from the next slice on.</summary>
        public void SetMode(SottoMode mode) => Check(Native.sotto_engine_set_mode(_engine, (int)mode));

        /// <summary>Changes the pace at which each stream speaks. 0: as fast as it goes.</summary>
        public void SetTargetTps(float tps) => Check(Native.sotto_engine_set_target_tps(_engine, tps));

        /// <summary>Changes the ceiling on what all models take together, in bytes. 0: no limit.</summary>
        /// <remarks>Also where more is in use: idle models give way, busy ones give up places for a while.</remarks>
        public void SetVramBudget(ulong bytes) => Check(Native.sotto_engine_set_vram_budget(_engine, bytes));

        /// <summary>Says that the game begins a frame. Never waits, never allocates.</summary>
        /// <param name="busyCores">Cores the game keeps busy during its work. 0: one.</param>
        /// <param name="periodNs">Time from frame to frame that the game aims at. 0: not known.</param>
        /// <param name="timeNs">When it began, on the system's monotonic clock. 0: now.</param>
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

        /// <summary>Says that the game has done a frame's work. Never waits, never allocates.</summary>
        /// <param name="gpuMs">What the frame took on the GPU. 0: not known.</param>
        /// <param name="busyMs">What the frame's work took. 0: from begin to end.</param>
        /// <param name="timeNs">When it ended, on the system's monotonic clock. 0: now.</param>
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

        /// <summary>How the engine does: for overlays and tests. Never waits, never allocates.</summary>
        public SottoStats Stats()
        {
            var told = new sotto_stats { struct_size = (uint)sizeof(sotto_stats) };
            Check(Native.sotto_engine_stats(_engine, &told));
            return new SottoStats(told);
        }

        /// <summary>Versions, device, modules: one JSON object. Waits for modules, the first time.</summary>
        public string DescribeJson()
        {
            sotto_str json;
            Check(Native.sotto_engine_describe(_engine, &json));
            return Copy(json);
        }

        /// <summary>The models that answer: one JSON array.</summary>
        public string ModelsJson()
        {
            sotto_str json;
            Check(Native.sotto_engine_list_models(_engine, &json));
            return Copy(json);
        }

        /// <summary>Who has how much of the machine's memory: one JSON object, see budget.h. Never waits.</summary>
        public string MemoryJson()
        {
            sotto_str json;
            Check(Native.sotto_engine_memory(_engine, &json));
            return Copy(json);
        }

        /// <summary>Cancels what runs and frees everything. A second call does nothing.</summary>
        public void Dispose()
        {
            LiveEngines.Destroy((IntPtr)_engine); // NULL, or one that is gone, is fine
            _engine = null;
            GC.SuppressFinalize(this);
        }

        // Destroying joins worker threads, which no finalizer should wait for: says so, and leaves the engine to
        // LiveEngines, which destroys it when the domain is unloaded.
        ~SottoEngine()
        {
            if (_engine != null)
                Library.Complain("SottoEngine was never disposed");
        }

        internal bool IsDisposed => _engine == null;

        delegate int ModelCall(sotto_model_desc* desc, ulong* request);

        static ulong OfModel(
            ModelCall call, string id, string path, string backend, string options, ulong user, SottoFlags flags)
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
                Check(call(&desc, &request));
            }
            return request;
        }

        static sotto_engine* Create(sotto_engine_desc* desc)
        {
            sotto_engine* engine;
            Check(Native.sotto_engine_create(desc, &engine));
            LiveEngines.Add((IntPtr)engine);
            return engine;
        }

        static bool Found(int status) => Check(status) != Native.SOTTO_EMPTY;

        static bool IsLive(int status) => status != Native.SOTTO_ERROR_NOT_FOUND && Check(status) >= 0;

        internal static int Check(int status) =>
            status >= 0 ? status : throw new SottoException(status, Copy(Native.sotto_last_error()));
    }
}
