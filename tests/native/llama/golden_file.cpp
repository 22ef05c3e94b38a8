// Readable records of test output, and their comparison with recorded ones.
#include "golden_file.hpp"
#include "support/paths.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace golden {
namespace {

constexpr std::size_t kWorthIt = 3; // minimum number of repeated lines to replace by a count
constexpr std::size_t kShown = 12;  // maximum lines of a difference

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream rest(text + "\n");
    for (std::string line; std::getline(rest, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::size_t common(const std::vector<std::string>& one, const std::vector<std::string>& other) {
    const auto size = std::min(one.size(), other.size());
    const auto end = one.begin() + static_cast<std::ptrdiff_t>(size);
    return static_cast<std::size_t>(std::mismatch(one.begin(), end, other.begin()).first - one.begin());
}

// Returns the lines that differ, without the common lines at the start and end.
std::string difference(std::vector<std::string> was, std::vector<std::string> is) {
    const auto begin = common(was, is);
    std::reverse(was.begin(), was.end());
    std::reverse(is.begin(), is.end());
    const auto end = std::min(common(was, is), std::min(was.size(), is.size()) - begin);
    std::ostringstream told;
    told << "from line " << begin + 1 << ":\n";
    const auto tell = [&](const std::vector<std::string>& lines, const char* mark) {
        const auto count = lines.size() - begin - end;
        for (std::size_t i = 0; i < std::min(count, kShown); ++i) {
            told << mark << lines[lines.size() - 1 - begin - i] << '\n';
        }
        if (count > kShown) {
            told << mark << "... and " << count - kShown << " more lines\n";
        }
    };
    tell(was, "- ");
    tell(is, "+ ");
    return told.str();
}

} // namespace

bool File::writes = false;

File::File(const std::string& name) : path_(std::string(test::paths::kGolden) + "/" + name + ".txt") {}

void File::add(const std::string& title, const std::string& text) {
    const auto lines = lines_of(text);
    std::size_t most = 0;
    std::string like;
    for (const auto& [other, before] : stretches_) {
        if (const auto same = common(lines, before); same > most && same >= kWorthIt) {
            most = same;
            like = other;
        }
    }
    text_ += "== " + title + '\n';
    if (most > 0) {
        text_ += "~ " + std::to_string(most) + " lines as in " + like + '\n';
    }
    for (std::size_t i = most; i < lines.size(); ++i) {
        text_ += '|' + lines[i] + '\n';
    }
    stretches_.emplace_back(title, lines);
}

std::string File::settle() const {
    if (writes) {
        std::ofstream(path_, std::ios::binary) << text_;
        return "";
    }
    std::ifstream file(path_, std::ios::binary);
    if (!file) {
        return path_ + " is not there; run the test with --write and look at what it writes";
    }
    std::ostringstream before;
    before << file.rdbuf();
    return before.str() == text_ ? "" : path_ + ", " + difference(lines_of(before.str()), lines_of(text_));
}

} // namespace golden
