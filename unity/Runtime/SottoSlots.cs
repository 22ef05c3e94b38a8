// Slots of a model by number: list them; save, restore and erase one.
using System.Collections.Generic;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>A slot of a model: the KV cache of one stream.</summary>
    public sealed class SottoSlot
    {
        /// <summary>Number of the slot, from 0.</summary>
        public int Id { get; private set; }

        /// <summary>True while a request uses the slot.</summary>
        public bool IsProcessing { get; private set; }

        /// <summary>Tokens that the slot can hold.</summary>
        public int Context { get; private set; }

        /// <summary>Tokens that the slot holds, also after its request has ended.</summary>
        public int Tokens { get; private set; }

        /// <summary>Id of the session that uses or keeps the slot; null: no session.</summary>
        public string Session { get; private set; }

        /// <summary>Id of the request that uses the slot; 0: the slot is free.</summary>
        public ulong Request { get; private set; }

        SottoSlot()
        {
        }

        /// <summary>Reads the response of a request of <see cref="SottoRequest.Slots"/>.</summary>
        /// <exception cref="SottoException">The response has another form.</exception>
        public static unsafe SottoSlot[] Parse(string response)
        {
            var found = new List<SottoSlot>();
            var bytes = Utf8.Bytes(response);
            fixed (byte* b = bytes)
            {
                var json = new JsonReader(b, bytes.Length);
                json.BeginObject();
                for (var name = json.NextField(); name != null; name = json.NextField())
                    if (name == "slots")
                        for (json.BeginArray(); json.NextItem();)
                            found.Add(Read(ref json));
                    else
                        json.Skip();
            }
            return found.ToArray();
        }

        static SottoSlot Read(ref JsonReader json)
        {
            var slot = new SottoSlot();
            json.BeginObject();
            for (var name = json.NextField(); name != null; name = json.NextField())
                switch (name)
                {
                    case "id": slot.Id = (int)json.Integer(); break;
                    case "is_processing": slot.IsProcessing = json.Flag(); break;
                    case "n_ctx": slot.Context = (int)json.Integer(); break;
                    case "n_tokens": slot.Tokens = (int)json.Integer(); break;
                    case "session": slot.Session = json.Text(); break;
                    case "request" when json.Peek() != 'n': slot.Request = (ulong)json.Integer(); break;
                    default: json.Skip(); break;
                }
            return slot;
        }
    }

    /// <summary>What was saved of a slot, or restored to it.</summary>
    public readonly struct SottoSlotState
    {
        /// <summary>Tokens that were saved or restored.</summary>
        public int Tokens { get; }

        /// <summary>Bytes that were written or read.</summary>
        public long Bytes { get; }

        SottoSlotState(int tokens, long bytes)
        {
            Tokens = tokens;
            Bytes = bytes;
        }

        /// <summary>
        /// Reads the response of a request of <see cref="SottoRequest.SaveSlot"/> or
        /// <see cref="SottoRequest.RestoreSlot"/>.
        /// </summary>
        /// <exception cref="SottoException">The response has another form.</exception>
        public static unsafe SottoSlotState Parse(string response)
        {
            var tokens = 0;
            long size = 0;
            var bytes = Utf8.Bytes(response);
            fixed (byte* b = bytes)
            {
                var json = new JsonReader(b, bytes.Length);
                json.BeginObject();
                for (var name = json.NextField(); name != null; name = json.NextField())
                    if (name == "n_saved" || name == "n_restored")
                        tokens = (int)json.Integer();
                    else if (name == "n_written" || name == "n_read")
                        size = json.Integer();
                    else
                        json.Skip();
            }
            return new SottoSlotState(tokens, size);
        }
    }

    public sealed partial class SottoRequest
    {
        /// <summary>The slots of a model; <see cref="SottoSlot.Parse"/> reads the response.</summary>
        public static SottoRequest Slots(string model) =>
            new SottoRequest(model, SottoOp.Slots).Set("action", "list");

        /// <summary>
        /// Saves the KV cache of a slot to a file; <see cref="SottoSlotState.Parse"/> reads the response.
        /// </summary>
        public static SottoRequest SaveSlot(string model, int slot, string path) =>
            OfSlot(model, "save", slot).Set("path", path ?? "");

        /// <summary>
        /// Loads a saved slot; <see cref="SottoSlotState.Parse"/> reads the response.
        /// </summary>
        public static SottoRequest RestoreSlot(string model, int slot, string path) =>
            OfSlot(model, "restore", slot).Set("path", path ?? "");

        /// <summary>Empties a slot.</summary>
        public static SottoRequest EraseSlot(string model, int slot) => OfSlot(model, "erase", slot);

        static SottoRequest OfSlot(string model, string action, int slot) =>
            new SottoRequest(model, SottoOp.Slots).Set("action", action).Set("id_slot", slot);
    }

    public sealed unsafe partial class SottoEngine
    {
        /// <summary>
        /// Waits for the running step and returns the slots of a model in order. Any thread, but never in a
        /// frame; there, await <see cref="SubmitAsync"/> with <see cref="SottoRequest.Slots"/>.
        /// </summary>
        /// <param name="model">Id of a loaded model.</param>
        /// <returns>The slots; empty while the model is evicted.</returns>
        /// <exception cref="SottoException">
        /// The model is not loaded, or its backend does not number its slots.
        /// </exception>
        public SottoSlot[] Slots(string model) => SottoSlot.Parse(ResponseOf(SottoRequest.Slots(model)));

        /// <summary>
        /// Saves the KV cache of a slot to a file, whole or not at all, and waits for it. Any thread, but never
        /// in a frame.
        /// </summary>
        /// <param name="model">Id of a loaded model.</param>
        /// <param name="slot">Number of the slot.</param>
        /// <param name="path">The file, which the current user alone may read.</param>
        /// <exception cref="SottoException">A request has the slot, or the slot holds no tokens.</exception>
        public SottoSlotState SaveSlot(string model, int slot, string path) =>
            SottoSlotState.Parse(ResponseOf(SottoRequest.SaveSlot(model, slot, path)));

        /// <summary>
        /// Loads a file of <see cref="SaveSlot"/> into a slot, instead of what the slot holds, and waits for
        /// it. Any thread, but never in a frame.
        /// </summary>
        /// <param name="model">Id of a loaded model.</param>
        /// <param name="slot">Number of the slot.</param>
        /// <param name="path">The file.</param>
        /// <exception cref="SottoException">
        /// A request has the slot, or the file is damaged or of another model.
        /// </exception>
        public SottoSlotState RestoreSlot(string model, int slot, string path) =>
            SottoSlotState.Parse(ResponseOf(SottoRequest.RestoreSlot(model, slot, path)));

        /// <summary>
        /// Empties a slot, so that the next request in it reuses nothing, and waits for it. Any thread, but
        /// never in a frame.
        /// </summary>
        /// <param name="model">Id of a loaded model.</param>
        /// <param name="slot">Number of the slot.</param>
        /// <exception cref="SottoException">A request has the slot.</exception>
        public void EraseSlot(string model, int slot) => ResponseOf(SottoRequest.EraseSlot(model, slot));

        // Runs a request and returns its response.
        string ResponseOf(SottoRequest request)
        {
            request.Flags = SottoFlags.Private;
            return WaitDone(Submit(request)).Json;
        }
    }
}
