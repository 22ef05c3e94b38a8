// A handle of the library that is freed when its owner is disposed or collected.
using System;
using System.Runtime.InteropServices;

namespace Sotto.Interop
{
    /// <summary>Owns a handle of an object that has no threads and no open database.</summary>
    /// <remarks>
    /// Any thread. A handle that is freed keeps its number, which the library refuses: calls after Dispose throw.
    /// </remarks>
    internal sealed class OwnedHandle : SafeHandle
    {
        readonly Action<IntPtr> _free;

        /// <summary>Takes a handle over.</summary>
        /// <param name="value">The handle.</param>
        /// <param name="free">Frees it; must not throw.</param>
        public OwnedHandle(IntPtr value, Action<IntPtr> free) : base(IntPtr.Zero, true)
        {
            _free = free;
            SetHandle(value);
        }

        /// <summary>The handle. Pass it to a call only as an argument of <see cref="Check"/>.</summary>
        public IntPtr Value => handle;

        public override bool IsInvalid => handle == IntPtr.Zero;

        /// <summary>
        /// Throws if a status is an error; keeps the handle alive during the call that returns the status.
        /// </summary>
        public int Check(int status)
        {
            GC.KeepAlive(this);
            return SottoEngine.Check(status);
        }

        protected override bool ReleaseHandle()
        {
            _free(handle);
            return true;
        }
    }
}
