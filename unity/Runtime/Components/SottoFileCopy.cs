// One copy of a file out of the game's package.
using System;
using System.IO;
using UnityEngine.Networking;

namespace Sotto
{
    /// <summary>A copy under way. It goes on without its first caller; whoever polls it completes it.</summary>
    internal sealed class SottoFileCopy
    {
        readonly string _from;
        readonly string _to;
        UnityWebRequest _request; // null: the copy has ended

        /// <summary>Starts to copy; a file that exists is replaced.</summary>
        public SottoFileCopy(string from, string to)
        {
            _from = from;
            _to = to;
            try
            {
                Directory.CreateDirectory(Path.GetDirectoryName(to));
                _request = UnityWebRequest.Get(from);
                _request.downloadHandler = new DownloadHandlerFile(Part) { removeFileOnAbort = true };
                _request.SendWebRequest();
            }
            catch (Exception problem) when (IsOfFiles(problem))
            {
                End(problem.Message);
            }
        }

        /// <summary>Why the copy failed, with both paths, or "".</summary>
        public string Error { get; private set; } = "";

        string Part => _to + ".part";

        /// <summary>Puts the file in place once it has arrived. Returns whether the copy has ended.</summary>
        public bool Poll()
        {
            if (_request == null)
                return true;
            if (_request.result == UnityWebRequest.Result.InProgress)
                return false;
            var reason = _request.result == UnityWebRequest.Result.Success ? "" : Reason(_request);
            try
            {
                Place(reason.Length == 0);
            }
            catch (Exception problem) when (IsOfFiles(problem))
            {
                reason = reason.Length > 0 ? reason : problem.Message;
            }
            End(reason);
            return true;
        }

        internal static bool IsOfFiles(Exception problem) =>
            problem is IOException || problem is UnauthorizedAccessException;

        void Place(bool arrived)
        {
            if (!arrived)
            {
                File.Delete(Part);
                return;
            }
            File.Delete(_to);
            File.Move(Part, _to);
        }

        void End(string reason)
        {
            _request?.Dispose();
            _request = null;
            if (reason.Length > 0)
                Error = $"file '{_from}' could not be copied to '{_to}' ({reason}): expected it in "
                    + $"Assets/StreamingAssets/{SottoFiles.Folder} of the build, and free space on the device";
        }

        static string Reason(UnityWebRequest request) =>
            string.IsNullOrEmpty(request.error) ? request.result.ToString() : request.error;
    }
}
