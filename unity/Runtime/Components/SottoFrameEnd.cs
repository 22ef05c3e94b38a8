// Ends the frame's work after all other scripts.
using UnityEngine;

namespace Sotto
{
    /// <summary>Reports the end of a frame that is not drawn. <see cref="SottoRuntime"/> adds it.</summary>
    [DefaultExecutionOrder(32000)]
    [AddComponentMenu("")]
    [DisallowMultipleComponent]
    public sealed class SottoFrameEnd : MonoBehaviour
    {
        internal SottoRuntime Runtime;

        void LateUpdate()
        {
            if (Runtime != null && !Runtime.EndsAfterDrawing)
                Runtime.EndFrame();
        }
    }
}
