// Compiles one C# source with Roslyn. Compiles Compiler.cs, before a compiler for C# 9 exists.
// Mono's compiler makes this program against .NET 8, whose spans it cannot read: no call here has a span overload.
using System;
using System.Collections.Generic;
using System.IO;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

/// <summary>Bootstrap OUT SOURCE NAME REFERENCE...: exit status 0 if OUT was written.</summary>
static class Bootstrap
{
    static int Main(string[] args)
    {
        var references = new List<MetadataReference>();
        for (var i = 3; i < args.Length; ++i)
            references.Add(MetadataReference.CreateFromFile(args[i]));
        var options = new CSharpParseOptions(LanguageVersion.CSharp9);
        var trees = new List<SyntaxTree>();
        trees.Add(CSharpSyntaxTree.ParseText(File.ReadAllText(args[1]), options));
        var program = new CSharpCompilationOptions(OutputKind.ConsoleApplication);
        var compilation = CSharpCompilation.Create(args[2], trees, references, program);
        using (var file = File.Create(args[0]))
        {
            var emitted = compilation.Emit(file);
            foreach (var one in emitted.Diagnostics)
                Console.WriteLine(one.ToString());
            return emitted.Success ? 0 : 1;
        }
    }
}
