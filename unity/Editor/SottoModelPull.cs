// Downloads a model file: resumes, checks its SHA-256, and puts it in place only if it is whole.
using System;
using System.IO;
using System.Security.Cryptography;
using System.Text;
using UnityEngine.Networking;

namespace Sotto.Editor
{
    /// <summary>
    /// One download. Call <see cref="Update"/> until <see cref="IsDone"/>; dispose it to stop.
    /// </summary>
    /// <remarks>A download that is stopped leaves `*.part` and goes on there the next time.</remarks>
    public sealed class SottoModelPull : IDisposable
    {
        const long Ok = 200, PartialContent = 206, RangeNotSatisfiable = 416; // HTTP
        readonly string _path;
        readonly string _sha256;
        UnityWebRequest _request;

        /// <summary>Starts a download.</summary>
        /// <param name="url">Address of the file.</param>
        /// <param name="path">Where to put it.</param>
        /// <param name="sha256">Expected hash, 64 hexadecimal digits.</param>
        public SottoModelPull(string url, string path, string sha256)
        {
            _path = path;
            _sha256 = (sha256 ?? "").Trim().ToLowerInvariant();
            if (_sha256.Length != 64)
                throw new ArgumentException(
                    $"invalid sha256 '{sha256}': expected 64 hexadecimal digits; the model's page lists it");
            Directory.CreateDirectory(Path.GetDirectoryName(path));
            var begun = File.Exists(Part) ? new FileInfo(Part).Length : 0; // by an earlier download
            _request = UnityWebRequest.Get(url);
            if (begun > 0)
                _request.SetRequestHeader("Range", $"bytes={begun}-");
            _request.downloadHandler = new DownloadHandlerFile(Incoming);
            _request.SendWebRequest();
        }

        /// <summary>Whether the download has ended, well or not.</summary>
        public bool IsDone { get; private set; }

        /// <summary>Why it failed, or "".</summary>
        public string Error { get; private set; } = "";

        /// <summary>Progress of this download, 0 to 1.</summary>
        public float Progress => _request != null ? _request.downloadProgress : IsDone && Error.Length == 0 ? 1 : 0;

        string Part => _path + ".part";
        string Incoming => _path + ".incoming"; // what this request has sent

        /// <summary>Ends the download if all has arrived. Hashing a large file takes seconds.</summary>
        public void Update()
        {
            if (IsDone || _request.result == UnityWebRequest.Result.InProgress)
                return;
            var arrived = _request.result == UnityWebRequest.Result.Success;
            var failure = _request.error;
            var code = _request.responseCode;
            Stop();
            OnFiles(() =>
            {
                Keep(code, arrived);
                if (arrived || code == RangeNotSatisfiable) // nothing was left to send
                    Finish();
                else
                    Error = $"the download failed ({failure}); try again, it goes on where it stopped";
            });
            IsDone = true;
        }

        /// <summary>Stops the download and keeps what has arrived.</summary>
        public void Dispose()
        {
            if (_request == null)
                return;
            var code = _request.responseCode;
            Stop();
            OnFiles(() => Keep(code, false));
        }

        /// <summary>Returns the name of the file that an address ends with, without the query.</summary>
        /// <exception cref="ArgumentException">It is no address, or it ends with no file name.</exception>
        public static string FileNameOf(string url)
        {
            var name = "";
            try
            {
                name = Path.GetFileName(Uri.UnescapeDataString(new Uri(url ?? "").AbsolutePath));
            }
            catch (UriFormatException)
            {
                // refused below
            }
            if (name.Trim('.', ' ').Length == 0 || name.IndexOfAny(Path.GetInvalidFileNameChars()) >= 0)
                throw new ArgumentException(
                    $"invalid address '{url}': expected one that ends with a file name, such as "
                    + "https://example.com/npc.gguf; copy the download link of the model's page");
            return name;
        }

        /// <summary>Returns the SHA-256 of a file as hexadecimal digits.</summary>
        public static string Hash(string path)
        {
            using (var sha = SHA256.Create())
            using (var file = File.OpenRead(path))
            {
                var digits = new StringBuilder(64);
                foreach (var one in sha.ComputeHash(file))
                    digits.Append(one.ToString("x2"));
                return digits.ToString();
            }
        }

        // The disk may be full, or another program may use the file.
        void OnFiles(Action work)
        {
            try
            {
                work();
            }
            catch (Exception problem) when (problem is IOException || problem is UnauthorizedAccessException)
            {
                Error = $"'{_path}' could not be written ({problem.Message}); free disk space, or close the program "
                    + "that uses the file, then try again";
            }
        }

        void Stop()
        {
            _request?.Dispose();
            _request = null;
        }

        // Adds what has arrived to the part; a server that ignores `Range` sends everything again.
        void Keep(long code, bool arrived)
        {
            if (!File.Exists(Incoming))
                return;
            if (arrived || code == PartialContent || code == Ok)
                using (var part = new FileStream(Part, code == PartialContent ? FileMode.Append : FileMode.Create))
                using (var incoming = File.OpenRead(Incoming))
                    incoming.CopyTo(part);
            File.Delete(Incoming);
        }

        void Finish()
        {
            var found = Hash(Part);
            if (found != _sha256)
            {
                File.Delete(Part);
                Error = $"invalid file: expected sha256 {_sha256}, found {found}; it was removed, download it again";
                return;
            }
            File.Delete(_path);
            File.Move(Part, _path);
        }
    }
}
