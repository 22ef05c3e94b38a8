// The handlers of an event, kept so that each of them runs even if another one throws.
using System;

namespace Sotto
{
    /// <summary>The handlers of one event. Adding and removing allocate; <see cref="Each"/> does not.</summary>
    internal struct SottoHandlers
    {
        static readonly Delegate[] None = new Delegate[0];
        Delegate _all;
        Delegate[] _each; // the invocation list of _all; null if there is no handler

        /// <summary>The handlers now. Adding or removing one while they run affects the next call.</summary>
        public Delegate[] Each => _each ?? None;

        public void Add(Delegate handler) => Set(Delegate.Combine(_all, handler));

        public void Remove(Delegate handler) => Set(Delegate.Remove(_all, handler));

        void Set(Delegate all)
        {
            _all = all;
            _each = all?.GetInvocationList();
        }
    }
}
