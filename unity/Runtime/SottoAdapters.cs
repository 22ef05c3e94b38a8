// LoRA adapters of a model; see adapter.h.
using System.Threading;
using Sotto.Interop;
using static Sotto.Interop.Utf8;

namespace Sotto
{
    public sealed unsafe partial class SottoEngine
    {
        /// <summary>Loads a LoRA adapter. Never waits; returns the id that its events carry.</summary>
        /// <param name="model">Id of a loaded model.</param>
        /// <param name="path">GGUF file of the adapter.</param>
        /// <param name="name">
        /// Name in requests. Empty: "default", the adapter of all requests that name none.
        /// </param>
        /// <param name="scale">
        /// Strength, -1000 to 1000, not 0. 1: the full effect. <see cref="SetAdapterScale"/> also takes 0.
        /// </param>
        /// <param name="user">User data, copied into each event.</param>
        /// <param name="flags">Private or None.</param>
        public ulong LoadAdapter(
            string model, string path, string name = "", float scale = 1, ulong user = 0,
            SottoFlags flags = SottoFlags.None)
        {
            if (scale == 0)
                throw new SottoException(
                    Native.SOTTO_ERROR_ARGUMENT,
                    "invalid scale '0': expected -1000 to 1000 without 0; load it, then use SetAdapterScale()");
            byte[] m = Bytes(model), p = Bytes(path), n = Bytes(name);
            fixed (byte* modelAt = m, pathAt = p, nameAt = n)
            {
                var desc = new sotto_adapter_desc
                {
                    struct_size = (uint)sizeof(sotto_adapter_desc),
                    flags = (uint)flags,
                    model = Str(modelAt, m),
                    name = Str(nameAt, n),
                    path = Str(pathAt, p),
                    user = user,
                    scale = scale,
                };
                ulong request;
                Check(Native.sotto_engine_load_adapter(_engine, &desc, &request));
                return request;
            }
        }

        /// <summary>
        /// Unloads an adapter; requests that use it finish with it. Never waits; returns the id that its events
        /// carry.
        /// </summary>
        public ulong UnloadAdapter(string model, string name = "", SottoFlags flags = SottoFlags.None)
        {
            byte[] m = Bytes(model), n = Bytes(name);
            ulong request;
            fixed (byte* modelAt = m, nameAt = n)
                Check(Native.sotto_engine_unload_adapter(
                    _engine, Str(modelAt, m), Str(nameAt, n), (uint)flags, &request));
            return request;
        }

        /// <summary>
        /// Sets the scale of an adapter for later requests, -1000 to 1000; 0: no effect. Never waits; returns the
        /// id that its events carry.
        /// </summary>
        public ulong SetAdapterScale(
            string model, float scale, string name = "", SottoFlags flags = SottoFlags.None)
        {
            byte[] m = Bytes(model), n = Bytes(name);
            ulong request;
            fixed (byte* modelAt = m, nameAt = n)
                Check(Native.sotto_engine_set_adapter_scale(
                    _engine, Str(modelAt, m), Str(nameAt, n), scale, (uint)flags, &request));
            return request;
        }

        /// <summary>Loads a LoRA adapter, as <see cref="LoadAdapter"/>.</summary>
        public SottoAnswer LoadAdapterAsync(
            string model, string path, string name = "", float scale = 1, CancellationToken token = default) =>
            Await(LoadAdapter(model, path, name, scale), token);

        /// <summary>Unloads an adapter.</summary>
        public SottoAnswer UnloadAdapterAsync(string model, string name = "", CancellationToken token = default) =>
            Await(UnloadAdapter(model, name), token);

        /// <summary>Sets the scale of an adapter for later requests.</summary>
        public SottoAnswer SetAdapterScaleAsync(
            string model, float scale, string name = "", CancellationToken token = default) =>
            Await(SetAdapterScale(model, scale, name), token);
    }
}
