// Events, failures, and the enums of the C ABI.
using System;
using System.Runtime.Serialization;
using Sotto.Interop;

namespace Sotto
{
    /// <summary>Priority between models and frames.</summary>
    public enum SottoMode
    {
        Balance = Native.SOTTO_MODE_BALANCE,
        PrioritizeCompute = Native.SOTTO_MODE_PRIORITIZE_COMPUTE,
        PrioritizeGraphics = Native.SOTTO_MODE_PRIORITIZE_GRAPHICS,
    }

    /// <summary>Engine flags, combined with bitwise or.</summary>
    [Flags]
    public enum SottoEngineFlags : uint
    {
        None = 0,

        /// <summary>An answer depends on its request alone, not on other requests. Slower.</summary>
        Deterministic = Native.SOTTO_ENGINE_DETERMINISTIC,

        /// <summary>
        /// Steps also wait at gates while the game works on a frame and leaves no core free.
        /// </summary>
        Gates = Native.SOTTO_ENGINE_GATES,
    }

    /// <summary>Scheduling priority.</summary>
    public enum SottoPriority
    {
        /// <summary>Work that no player waits for: summaries, gossip.</summary>
        Background = Native.SOTTO_PRIORITY_BACKGROUND,
        Normal = Native.SOTTO_PRIORITY_NORMAL,

        /// <summary>The character that the player speaks with; preempts a stream of lower priority.</summary>
        Foreground = Native.SOTTO_PRIORITY_FOREGROUND,
    }

    /// <summary>The operation of a request.</summary>
    public enum SottoOp
    {
        Chat = Native.SOTTO_OP_CHAT,
        Completion = Native.SOTTO_OP_COMPLETION,
        Infill = Native.SOTTO_OP_INFILL,
        Tokenize = Native.SOTTO_OP_TOKENIZE,
        Detokenize = Native.SOTTO_OP_DETOKENIZE,
        ApplyTemplate = Native.SOTTO_OP_APPLY_TEMPLATE,
        SaveState = Native.SOTTO_OP_SAVE_STATE,
        RestoreState = Native.SOTTO_OP_RESTORE_STATE,

        /// <summary>Sessions: see <see cref="SottoSession"/>.</summary>
        OpenSession = Native.SOTTO_OP_OPEN_SESSION,
        CloseSession = Native.SOTTO_OP_CLOSE_SESSION,
        ReadSession = Native.SOTTO_OP_READ_SESSION,
        ChangeSession = Native.SOTTO_OP_CHANGE_SESSION,

        /// <summary>Embeds texts. Needs a model that embeds, as the next two need one of their kind.</summary>
        Embed = Native.SOTTO_OP_EMBED,
        Transcribe = Native.SOTTO_OP_TRANSCRIBE,
        Translate = Native.SOTTO_OP_TRANSLATE,

        /// <summary>Ranks documents. Needs a model with a classification head.</summary>
        Rerank = Native.SOTTO_OP_RERANK,

        /// <summary>A response of OpenAI's Responses API.</summary>
        Respond = Native.SOTTO_OP_RESPOND,

        /// <summary>All conversations of the engine, to and from one file: field <c>path</c>.</summary>
        SaveGame = Native.SOTTO_OP_SAVE_GAME,
        RestoreGame = Native.SOTTO_OP_RESTORE_GAME,

        /// <summary>Checks a text with guardrails: see <see cref="SottoRequest.Check"/>.</summary>
        Check = Native.SOTTO_OP_CHECK,

        /// <summary>Slots of a model by number: fields <c>action</c>, <c>id_slot</c>, <c>path</c>.</summary>
        Slots = Native.SOTTO_OP_SLOTS,

        /// <summary>Drops the last turns of a session: see <see cref="SottoSession.Rewind"/>.</summary>
        EditSession = Native.SOTTO_OP_EDIT_SESSION,

        /// <summary>Quantizes a model's file: fields <c>path</c>, <c>to_path</c>, <c>type</c>, <c>imatrix</c>.</summary>
        Quantize = Native.SOTTO_OP_QUANTIZE,

        /// <summary>Images: see <see cref="SottoEngine.GenerateImageAsync"/>.</summary>
        GenerateImage = Native.SOTTO_OP_IMAGE_GENERATE,

        /// <summary>Background removal: see <see cref="SottoEngine.RemoveBackgroundAsync"/>.</summary>
        RemoveBackground = Native.SOTTO_OP_IMAGE_MATTE,
    }

    /// <summary>Request flags, combined with bitwise or.</summary>
    [Flags]
    public enum SottoFlags : uint
    {
        None = 0,

        /// <summary>Events go to <see cref="SottoEngine.WaitEvent"/>, not to the engine's queue.</summary>
        Private = Native.SOTTO_REQUEST_PRIVATE,

        /// <summary>Events carry OpenAI stream chunks in <see cref="SottoEvent.Json"/>.</summary>
        Chunks = Native.SOTTO_REQUEST_CHUNKS,
    }

    /// <summary>The kind of an event. Skip unknown kinds.</summary>
    public enum SottoEventKind
    {
        Accepted = Native.SOTTO_EVENT_ACCEPTED,
        Progress = Native.SOTTO_EVENT_PROGRESS,
        Text = Native.SOTTO_EVENT_TEXT,
        ChoiceDone = Native.SOTTO_EVENT_CHOICE_DONE,
        Usage = Native.SOTTO_EVENT_USAGE,
        RequestDone = Native.SOTTO_EVENT_REQUEST_DONE,

        /// <summary>Next part of the reasoning before the answer.</summary>
        Reasoning = Native.SOTTO_EVENT_REASONING,

        /// <summary>The model calls a tool: its name is in Text, the call in Json.</summary>
        ToolCall = Native.SOTTO_EVENT_TOOL_CALL,

        /// <summary>Next part of a result that is no text, in Data; Json describes it.</summary>
        Data = Native.SOTTO_EVENT_DATA,
    }

    /// <summary>Reason why an answer ended.</summary>
    public enum SottoFinish
    {
        None = Native.SOTTO_FINISH_NONE,
        Stop = Native.SOTTO_FINISH_STOP,

        /// <summary><c>max_tokens</c> is reached, or the context is full.</summary>
        Length = Native.SOTTO_FINISH_LENGTH,
        ToolCalls = Native.SOTTO_FINISH_TOOL_CALLS,

        /// <summary>A guardrail blocked the rest.</summary>
        ContentFilter = Native.SOTTO_FINISH_CONTENT_FILTER,
    }

    /// <summary>One event of one request. Owns its text.</summary>
    public readonly struct SottoEvent
    {
        public readonly SottoEventKind Kind;

        /// <summary>Id of the request.</summary>
        public readonly ulong Request;

        /// <summary>User data of the request.</summary>
        public readonly ulong User;

        /// <summary>Part of the answer or the reasoning, or a tool's name.</summary>
        public readonly string Text;

        /// <summary>With RequestDone: the response. With flag Chunks: this event's chunk.</summary>
        public readonly string Json;

        /// <summary>With RequestDone: the result, one of the <c>Native.SOTTO_*</c> statuses.</summary>
        public readonly int Status;

        /// <summary>Tokens generated so far.</summary>
        public readonly int Tokens;

        /// <summary>With Progress: 0 to 1.</summary>
        public readonly float Progress;

        /// <summary>Index of the answer (choice), from 0.</summary>
        public readonly int Index;

        /// <summary>With ChoiceDone: why the answer ended.</summary>
        public readonly SottoFinish Finish;

        /// <summary>With RequestDone: why the request failed. Else empty.</summary>
        public readonly string Error;

        /// <summary>With Data: bytes of the result. Else empty.</summary>
        public readonly byte[] Data;

        /// <summary>Whether this was the request's last event.</summary>
        public bool IsDone => Kind == SottoEventKind.RequestDone;

        internal SottoEvent(in sotto_event e)
        {
            Kind = (SottoEventKind)e.kind;
            Request = e.request;
            User = e.user;
            Text = Utf8.Copy(e.text);
            Json = Utf8.Copy(e.json);
            Status = e.status;
            Tokens = (int)e.tokens;
            Progress = e.progress;
            Index = (int)e.index;
            Finish = (SottoFinish)e.finish;
            Error = Utf8.Copy(e.error);
            Data = Utf8.Bytes(e.data);
        }
    }

    /// <summary>A call into the library failed, or an awaited request did.</summary>
    [Serializable]
    public sealed class SottoException : Exception
    {
        /// <summary>One of the <c>Native.SOTTO_ERROR_*</c> values.</summary>
        public int Status { get; }

        public SottoException(int status, string message) : base(message) => Status = status;

        SottoException(SerializationInfo info, StreamingContext context) : base(info, context) =>
            Status = info.GetInt32(nameof(Status));

        /// <summary>Serializes the exception for another application domain or process.</summary>
        public override void GetObjectData(SerializationInfo info, StreamingContext context)
        {
            base.GetObjectData(info, context);
            info.AddValue(nameof(Status), Status);
        }
    }
}
