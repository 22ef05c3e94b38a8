// Shares the GPU that Unity draws with, and again after Unity has made a new device.
using Sotto.Interop;

namespace Sotto
{
    /// <summary>The GPU sharing of one runtime's engine.</summary>
    internal sealed class SottoGraphicsSharing
    {
        const float Interval = 1; // seconds between two looks at the device
        readonly SottoEngine _engine;
        uint _generation;
        float _next;

        public SottoGraphicsSharing(SottoEngine engine) => _engine = engine;

        /// <summary>How closely the GPU is shared.</summary>
        public SottoGpuSharing Sharing { get; private set; }

        /// <summary>Why the GPU is not shared, or "".</summary>
        public string Reason { get; private set; } = "";

        /// <summary>Attaches the engine if Unity's device allows it. Waits for the driver.</summary>
        public void Attach(float now)
        {
            _next = now + Interval;
            var info = SottoGraphics.Describe();
            if (info.State != SottoGraphicsState.Ready)
            {
                Reason = info.Reason;
                return;
            }
            _generation = info.Generation;
            try
            {
                Sharing = _engine.AttachGraphics();
                Reason = "";
            }
            catch (SottoException refused) when (refused.Status != Native.SOTTO_ERROR_ARGUMENT)
            {
                Sharing = SottoGpuSharing.None;
                Reason = refused.Message;
            }
        }

        /// <summary>
        /// Attaches again after Unity has made a new device. Does nothing if it never was attached.
        /// </summary>
        public void Update(float now)
        {
            if (_generation == 0 || now < _next)
                return;
            _next = now + Interval;
            var info = SottoGraphics.Describe();
            if (info.State == SottoGraphicsState.Ready && info.Generation != _generation)
                Attach(now);
        }
    }
}
