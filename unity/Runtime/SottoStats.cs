// Statistics of an engine, for overlays and tests.
using Sotto.Interop;

namespace Sotto
{
    /// <summary>Statistics of an engine. Rates cover the last second.</summary>
    public readonly struct SottoStats
    {
        /// <summary>Priority between models and frames.</summary>
        public readonly SottoMode Mode;

        /// <summary>Live requests.</summary>
        public readonly int Live;

        /// <summary>Streams that wait for a slot.</summary>
        public readonly int Waiting;

        /// <summary>Streams in prefill.</summary>
        public readonly int Prefilling;

        /// <summary>Streams in decode.</summary>
        public readonly int Decoding;

        /// <summary>Streams that were preempted and are parked.</summary>
        public readonly int Parked;

        /// <summary>Threads of a step.</summary>
        public readonly int Threads;

        /// <summary>Duty cycle: share of time in which models may compute, 0 to 1.</summary>
        public readonly float Share;

        /// <summary>Share of the last second in which models computed, 0 to 1.</summary>
        public readonly float Busy;

        /// <summary>Tokens decoded in the last second, of all streams.</summary>
        public readonly float TokensPerSecond;

        /// <summary>Tokens prefilled in the last second.</summary>
        public readonly float PromptPerSecond;

        /// <summary>Longest current queue wait in ms.</summary>
        public readonly float QueueWaitMaxMs;

        /// <summary>Mean time to first token of the last 32 answers, in ms.</summary>
        public readonly float TtftMeanMs;

        /// <summary>p99 step time over the last 256 steps, in ms.</summary>
        public readonly float StepP99Ms;

        /// <summary>Median work of the game's last frames, in ms. 0: no frames.</summary>
        public readonly float FrameP50Ms;

        /// <summary>p95 work of the game's last frames, in ms.</summary>
        public readonly float FrameP95Ms;

        /// <summary>p99 work of the game's last frames, in ms.</summary>
        public readonly float FrameP99Ms;

        /// <summary>Reported frames.</summary>
        public readonly ulong Frames;

        /// <summary>Frames whose work took longer than their period.</summary>
        public readonly ulong FramesMissed;

        /// <summary>Requests that ended with SOTTO_OK.</summary>
        public readonly ulong Finished;

        /// <summary>Requests that failed.</summary>
        public readonly ulong Failed;

        /// <summary>Requests that were cancelled.</summary>
        public readonly ulong Cancelled;

        /// <summary>Tokens decoded.</summary>
        public readonly ulong CompletionTokens;

        /// <summary>Prompt tokens prefilled.</summary>
        public readonly ulong PromptTokens;

        /// <summary>Prompt tokens found in the prefix cache.</summary>
        public readonly ulong CachedPromptTokens;

        /// <summary>Slices.</summary>
        public readonly ulong Slices;

        /// <summary>Time of the slices, in ns.</summary>
        public readonly ulong SliceNs;

        /// <summary>Time that slices waited at gates, in ns.</summary>
        public readonly ulong GatedNs;

        /// <summary>Memory of all models, in bytes.</summary>
        public readonly ulong BytesInUse;

        /// <summary>Memory budget in bytes. 0: no limit.</summary>
        public readonly ulong VramBudget;

        /// <summary>Peak memory of all models, in bytes.</summary>
        public readonly ulong BytesPeak;

        /// <summary>Bytes of weights.</summary>
        public readonly ulong BytesWeights;

        /// <summary>Bytes of KV cache.</summary>
        public readonly ulong BytesKv;

        /// <summary>Bytes of compute buffers.</summary>
        public readonly ulong BytesCompute;

        /// <summary>Bytes of spilled KV cache of parked streams.</summary>
        public readonly ulong BytesParked;

        /// <summary>Evicted models; they reload when a request needs them.</summary>
        public readonly int ModelsEvicted;

        /// <summary>Streams in all slices; divided by <see cref="Slices"/>, the mean batch.</summary>
        public readonly ulong SliceStreams;

        /// <summary>Draft tokens that speculation proposed.</summary>
        public readonly ulong DraftTokens;

        /// <summary>Draft tokens that the model accepted.</summary>
        public readonly ulong DraftAccepted;

        /// <summary>Steps that checked draft tokens, one for each stream in a slice.</summary>
        public readonly ulong DraftSteps;

        internal SottoStats(in sotto_stats stats)
        {
            Mode = (SottoMode)stats.mode;
            Live = (int)stats.live;
            Waiting = (int)stats.waiting;
            Prefilling = (int)stats.prefilling;
            Decoding = (int)stats.decoding;
            Parked = (int)stats.parked;
            Threads = (int)stats.threads;
            Share = stats.share;
            Busy = stats.busy;
            TokensPerSecond = stats.tokens_per_s;
            PromptPerSecond = stats.prompt_per_s;
            QueueWaitMaxMs = stats.queue_wait_max_ms;
            TtftMeanMs = stats.ttft_mean_ms;
            StepP99Ms = stats.step_p99_ms;
            FrameP50Ms = stats.frame_p50_ms;
            FrameP95Ms = stats.frame_p95_ms;
            FrameP99Ms = stats.frame_p99_ms;
            Frames = stats.frames;
            FramesMissed = stats.frames_missed;
            Finished = stats.finished;
            Failed = stats.failed;
            Cancelled = stats.cancelled;
            CompletionTokens = stats.completion_tokens;
            PromptTokens = stats.prompt_tokens;
            CachedPromptTokens = stats.cached_prompt_tokens;
            Slices = stats.slices;
            SliceNs = stats.slice_ns;
            GatedNs = stats.gated_ns;
            BytesInUse = stats.bytes_in_use;
            VramBudget = stats.vram_budget;
            BytesPeak = stats.bytes_peak;
            BytesWeights = stats.bytes_weights;
            BytesKv = stats.bytes_kv;
            BytesCompute = stats.bytes_compute;
            BytesParked = stats.bytes_parked;
            ModelsEvicted = (int)stats.models_evicted;
            SliceStreams = stats.slice_streams;
            DraftTokens = stats.draft_tokens;
            DraftAccepted = stats.draft_accepted;
            DraftSteps = stats.draft_steps;
        }
    }
}
