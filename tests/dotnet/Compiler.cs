// A C# compiler that stays: Roslyn behind standard input, so that only the first compilation pays for its start.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Text;

/// <summary>Reads one path of a response file per line; answers with diagnostics, then "done" and the count of errors.</summary>
/// <remarks>A response file has one option of csc per line. The options are parsed by Roslyn itself.</remarks>
static class Compiler
{
    static readonly Dictionary<string, MetadataReference> Known = new Dictionary<string, MetadataReference>();

    static int Main()
    {
        string file;
        while ((file = Console.In.ReadLine()) != null)
        {
            int errors;
            try
            {
                errors = Compile(File.ReadAllLines(file));
            }
            catch (Exception error)
            {
                Console.WriteLine(error);
                errors = 1;
            }
            Console.WriteLine("done " + errors);
        }
        return 0;
    }

    static int Compile(string[] options)
    {
        var folder = Directory.GetCurrentDirectory();
        var asked = CSharpCommandLineParser.Default.Parse(options, folder, null, null);
        var found = new List<Diagnostic>(asked.Errors);
        if (!found.Any(IsError))
            Emit(asked, found);
        foreach (var one in found.Where(d => d.Severity >= DiagnosticSeverity.Warning && !d.IsSuppressed))
            Console.WriteLine(one);
        return found.Count(IsError);
    }

    static void Emit(CSharpCommandLineArguments asked, List<Diagnostic> found)
    {
        var trees = asked.SourceFiles.Select(source => Parse(source.Path, asked.ParseOptions)).ToList();
        var references = asked.MetadataReferences.Select(one => Refer(one.Reference)).ToList();
        var name = Path.GetFileNameWithoutExtension(asked.OutputFileName);
        var compilation = CSharpCompilation.Create(name, trees, references, asked.CompilationOptions);
        using (var image = new MemoryStream())
        {
            var emitted = compilation.Emit(image);
            found.AddRange(emitted.Diagnostics);
            if (emitted.Success)
                File.WriteAllBytes(Path.Combine(asked.OutputDirectory, asked.OutputFileName), image.ToArray());
        }
    }

    static SyntaxTree Parse(string path, CSharpParseOptions options)
    {
        using (var stream = File.OpenRead(path))
            return CSharpSyntaxTree.ParseText(SourceText.From(stream, Encoding.UTF8), options, path);
    }

    // Framework assemblies are read once; other assemblies may have been written again since.
    static MetadataReference Refer(string path)
    {
        var key = path + File.GetLastWriteTimeUtc(path).Ticks;
        MetadataReference known;
        if (!Known.TryGetValue(key, out known))
            Known[key] = known = MetadataReference.CreateFromImage(File.ReadAllBytes(path), filePath: path);
        return known;
    }

    static bool IsError(Diagnostic one)
    {
        return one.Severity == DiagnosticSeverity.Error;
    }
}
