// What the editor shows of an imported GGUF file.
using UnityEngine;

namespace Sotto
{
    /// <summary>
    /// The description of a GGUF file in Assets; the build step copies the file into the game.
    /// </summary>
    public sealed class SottoModelFile : ScriptableObject
    {
        /// <summary>Path of the file, relative to the project.</summary>
        public string path = "";

        /// <summary>`general.name` of the file.</summary>
        public string title = "";

        /// <summary>`general.architecture` of the file.</summary>
        public string architecture = "";

        /// <summary>Context that the model was trained with, in tokens. 0: not in the file.</summary>
        public long trainedContext;

        /// <summary>Number of tensors.</summary>
        public long tensors;

        /// <summary>Size of the file in bytes.</summary>
        public long bytes;
    }
}
