// KV cache states in memory; see state.h.
using Sotto.Interop;
using static Sotto.Interop.Utf8;

namespace Sotto
{
    public sealed unsafe partial class SottoEngine
    {
        /// <summary>
        /// Restores a state of <see cref="SottoSession.ReadState"/>, so that the next prompt that begins with the same
        /// tokens is not prefilled. Never waits; returns the id that its events carry.
        /// </summary>
        /// <remarks>
        /// A state that is damaged, or of another model or version, ends with <c>Native.SOTTO_ERROR_MODEL</c> and
        /// changes nothing.
        /// </remarks>
        /// <param name="model">Id of the loaded model.</param>
        /// <param name="state">The bytes.</param>
        /// <param name="flags">Private or None.</param>
        public ulong RestoreState(string model, byte[] state, SottoFlags flags = SottoFlags.None)
        {
            Arguments.Required("state", state, "the bytes of ReadState()");
            var id = Bytes(model);
            ulong request;
            fixed (byte* m = id, s = state)
                Check(Native.sotto_engine_restore_state(_engine, Str(m, id), Str(s, state), (uint)flags, &request));
            return request;
        }
    }
}
