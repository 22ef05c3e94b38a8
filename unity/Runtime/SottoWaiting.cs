// Waiting for events, for tools and tests.
using Sotto.Interop;

namespace Sotto
{
    public sealed unsafe partial class SottoEngine
    {
        /// <summary>
        /// Waits until the queue holds an event. Returns false after the timeout. For tools, never for a
        /// frame.
        /// </summary>
        public bool Wait(int timeoutMs = -1)
        {
            do
                if (Found(Native.sotto_engine_wait_for_events(_engine, TakePart(ref timeoutMs))))
                    return true;
            while (timeoutMs != 0);
            return false;
        }

        /// <summary>Takes the oldest event of a private request. Returns false after the timeout.</summary>
        /// <param name="timeoutMs">Milliseconds. 0: returns at once. Negative: no timeout.</param>
        public bool WaitEvent(ulong request, int timeoutMs, out SottoEvent happened)
        {
            var e = new sotto_event { struct_size = (uint)sizeof(sotto_event) };
            bool found;
            do
                found = Found(Native.sotto_engine_wait_request_event(_engine, request, TakePart(ref timeoutMs), &e));
            while (!found && timeoutMs != 0);
            happened = found ? new SottoEvent(e) : default;
            return found;
        }

        // Takes up to 100 ms off a timeout and returns them. Mono cannot end a thread that waits in native code: it
        // ends it between two parts.
        static int TakePart(ref int timeoutMs)
        {
            const int most = 100;
            var part = timeoutMs < 0 || timeoutMs > most ? most : timeoutMs;
            timeoutMs = timeoutMs < 0 ? timeoutMs : timeoutMs - part;
            return part;
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

        /// <summary>Counts the tokens of a text, and waits for it. Any thread, but never in a frame.</summary>
        /// <param name="model">Id of a loaded model.</param>
        /// <param name="text">The text.</param>
        /// <returns>The number of tokens, without those that a model adds to a prompt.</returns>
        public int CountTokens(string model, string text)
        {
            var request = SottoRequest.Tokenize(model, text).Set("add_special", false);
            request.Flags = SottoFlags.Private;
            return SottoJson.Count(WaitDone(Submit(request)).Json, "tokens");
        }
    }
}
