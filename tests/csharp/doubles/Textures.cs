// Stand-ins for UnityEngine's textures: keep the bytes that were uploaded.
using System;
using Doubles;

namespace UnityEngine
{
    public enum TextureFormat
    {
        RGBA32 = 4,
    }

    public enum TextureWrapMode
    {
        Repeat,
        Clamp,
    }

    public class Texture : Object
    {
        public virtual int width { get; protected set; }
        public virtual int height { get; protected set; }
        public TextureWrapMode wrapMode { get; set; }
        public virtual bool isReadable { get; protected set; } = true;
    }

    public sealed class Texture2D : Texture
    {
        byte[] _raw = new byte[0];

        public Texture2D(int width, int height, TextureFormat textureFormat, bool mipChain)
        {
            this.width = width;
            this.height = height;
            Textures.LastMade = Player.FrameCount;
            Textures.Made += mipChain ? 0 : 1;
        }

        public void LoadRawTextureData(byte[] data)
        {
            if (data.Length != 4 * width * height)
                throw new UnityException("LoadRawTextureData: not enough data provided (will result in overread).");
            _raw = (byte[])data.Clone();
        }

        public void Apply(bool updateMipmaps, bool makeNoLongerReadable)
        {
            Textures.Uploaded[this] = _raw;
            isReadable = !makeNoLongerReadable;
        }
    }

    public class UnityException : SystemException
    {
        public UnityException(string message) : base(message)
        {
        }
    }
}

namespace Doubles
{
    /// <summary>The graphics memory of the stand-ins. Not part of Unity.</summary>
    public static class Textures
    {
        /// <summary>Number of textures that were made, and the frame of the last one.</summary>
        public static int Made, LastMade;

        /// <summary>Pixels by texture.</summary>
        public static readonly System.Collections.Generic.Dictionary<UnityEngine.Texture, byte[]> Uploaded =
            new System.Collections.Generic.Dictionary<UnityEngine.Texture, byte[]>();
    }
}
