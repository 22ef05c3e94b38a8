// Readable records of test output, and their comparison with recorded ones.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace golden {

class File {
public:
    // `name` is that of a template; records are in tests/native/llama/golden.
    explicit File(const std::string& name);

    // Adds a section. Lines at its start that also start an earlier section are replaced by their count.
    void add(const std::string& title, const std::string& text);

    // With --write, writes the record. Otherwise returns the difference to the recorded one; empty: no
    // difference.
    std::string settle() const;

    static bool writes; // the tests run with --write

private:
    std::string path_;
    std::string text_;
    std::vector<std::pair<std::string, std::vector<std::string>>> stretches_;
};

} // namespace golden
