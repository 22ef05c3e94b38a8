// Memories that Python wrote, read and changed in C#: see exchange.py.
//
//   Exchange.exe FOLDER: prints what a character remembers, its state and what it recalls, then adds and forgets.
using System;
using System.Text;
using Sotto;

static class Exchange
{
    static double _now = 1_800_000_000.25;

    static void Main(string[] args)
    {
        Console.OutputEncoding = new UTF8Encoding(false);
        using (var store = SottoStore.Open(args[0], "lore", 26))
        {
            var rule = new SottoForgetting(10, 100);
            var memory = new SottoCharacterMemory(store, "Mara Büttner", Letters, rule, () => _now);
            Print(memory);
            var state = memory.LoadState();
            Console.WriteLine($"{state.Mood} {state.Place} {state.Relationships["Tobin"]}");
            _now += 50;
            foreach (var one in memory.Recall("cellar tale", 4))
                Console.WriteLine(one.Text);
            memory.Add(new[] { "line 1 of  the tale x b" }, SottoMemoryKind.Said, 0.3);
            _now += 100;
            for (var i = 0; i < 8; ++i)
                memory.Add(new[] { $"new {i}" }, SottoMemoryKind.Fact, 0.3 + i / 20.0);
            state.Mood = "wroth 🏰";
            memory.SaveState(state);
            Print(memory);
        }
    }

    static void Print(SottoCharacterMemory memory)
    {
        foreach (var one in memory.List())
            Console.WriteLine($"{one.Id} {one.Text} {one.Kind.ToString().ToLowerInvariant()} {(long)(one.Used * 1000)}");
    }

    // A vector by the letters of a text, as in exchange.py.
    static float[][] Letters(string[] texts) =>
        Array.ConvertAll(texts, text =>
        {
            var vector = new float[26];
            vector[0] = 0.1f;
            foreach (var c in text.ToLowerInvariant())
                if (c >= 'a' && c <= 'z')
                    vector[c - 'a'] += 1;
            return vector;
        });
}
