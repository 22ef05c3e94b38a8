// Stand-ins for UnityWebRequest: reads a `file://` address, so that downloads run without a network.
using System;
using System.IO;
using Doubles;

namespace Doubles
{
    /// <summary>The network of the stand-ins. Not part of Unity.</summary>
    public static class Web
    {
        /// <summary>Number of requests that were sent.</summary>
        public static int Sent;

        /// <summary>Frames until a request that is sent now has its result.</summary>
        public static int Frames;
    }
}

namespace UnityEngine.Networking
{
    public class DownloadHandler : IDisposable
    {
        internal DownloadHandler()
        {
        }

        internal virtual void Receive(byte[] data)
        {
        }

        public virtual void Dispose()
        {
        }
    }

    public sealed class DownloadHandlerFile : DownloadHandler
    {
        readonly string _path;
        readonly bool _append;

        public DownloadHandlerFile(string path) : this(path, false)
        {
        }

        public DownloadHandlerFile(string path, bool append)
        {
            _path = path;
            _append = append;
        }

        public bool removeFileOnAbort { get; set; }

        internal override void Receive(byte[] data)
        {
            using (var file = new FileStream(_path, _append ? FileMode.Append : FileMode.Create))
                file.Write(data, 0, data.Length);
        }
    }

    public class UnityWebRequestAsyncOperation : AsyncOperation
    {
    }

    public class UnityWebRequest : IDisposable
    {
        readonly string _url;
        string _range = "";
        Result _result;
        int _ready; // the frame from which on the result is there

        UnityWebRequest(string url) => _url = url;

        public enum Result
        {
            InProgress,
            Success,
            ConnectionError,
            ProtocolError,
            DataProcessingError,
        }

        public Result result => Player.FrameCount < _ready ? Result.InProgress : _result;
        public string error { get; private set; } = "";
        public long responseCode { get; private set; }
        public float downloadProgress { get; private set; }
        public DownloadHandler downloadHandler { get; set; }

        public static UnityWebRequest Get(string uri) => new UnityWebRequest(uri);
        public void SetRequestHeader(string name, string value) => _range = name == "Range" ? value : _range;

        public UnityWebRequestAsyncOperation SendWebRequest()
        {
            ++Web.Sent;
            _ready = Player.FrameCount + Web.Frames;
            var path = _url.Split('?')[0].Replace("jar:file://", "").Replace("file://", "").Replace("!", "");
            if (File.Exists(path))
                Answer(File.ReadAllBytes(path));
            else
            {
                _result = Result.ProtocolError;
                responseCode = 404;
                error = "HTTP/1.1 404 Not Found";
            }
            return new UnityWebRequestAsyncOperation();
        }

        public void Dispose()
        {
        }

        void Answer(byte[] data)
        {
            var from = _range.Length > 0 ? int.Parse(_range.Substring(6).TrimEnd('-')) : 0;
            if (from > 0 && from >= data.Length)
            {
                _result = Result.ProtocolError;
                responseCode = 416;
                error = "HTTP/1.1 416 Range Not Satisfiable";
                return;
            }
            var part = new byte[data.Length - from];
            Array.Copy(data, from, part, 0, part.Length);
            downloadHandler.Receive(part);
            _result = Result.Success;
            responseCode = from > 0 ? 206 : 200;
            downloadProgress = 1;
        }
    }
}
