// Imports GGUF files of Assets: shows what a file holds; the file itself stays where it is.
using System.IO;
using UnityEditor.AssetImporters;
using UnityEngine;

namespace Sotto.Editor
{
    /// <summary>
    /// Imports `*.gguf`. Large models are better placed in StreamingAssets/Sotto, which Unity does not
    /// import.
    /// </summary>
    [ScriptedImporter(1, "gguf")]
    public sealed class SottoGgufImporter : ScriptedImporter
    {
        public override void OnImportAsset(AssetImportContext ctx)
        {
            var asset = ScriptableObject.CreateInstance<SottoModelFile>();
            asset.path = ctx.assetPath;
            try
            {
                var header = GgufHeader.Read(ctx.assetPath);
                asset.title = header.Title;
                asset.architecture = header.Architecture;
                asset.trainedContext = header.TrainedContext;
                asset.tensors = (long)header.Tensors;
                asset.bytes = new FileInfo(ctx.assetPath).Length;
            }
            catch (InvalidDataException invalid)
            {
                ctx.LogImportError(invalid.Message);
            }
            ctx.AddObjectToAsset("model", asset);
            ctx.SetMainObject(asset);
        }
    }
}
