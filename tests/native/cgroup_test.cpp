// Control group limits, in temporary directory trees.
#include "platform/cgroup.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "platform/thread.hpp"
#include "support/folder.hpp"

using namespace sotto;
using test::Folder;

namespace {

constexpr std::uint64_t kMega = 1 << 20;

class Tree {
public:
    void put(const std::string& path, const std::string& text) {
        const auto whole = folder_.text() + path;
        std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
        std::ofstream(whole) << text << '\n';
    }
    std::string root() const { return folder_.text(); }

private:
    Folder folder_;
};

void mount_v2(Tree& tree, const std::string& group, const std::string& mounted = "/") {
    tree.put("/proc/self/cgroup", "0::" + group);
    tree.put(
        "/proc/self/mountinfo",
        "22 1 0:20 / / rw - ext4 /dev/sda1 rw\n30 22 0:27 " + mounted +
            " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
    );
}

void mount_v1(Tree& tree, const std::string& group, const std::string& mounted = "/") {
    tree.put("/proc/self/cgroup", "9:memory:" + group + "\n4:cpu,cpuacct:" + group + "\n1:name=systemd:/x");
    tree.put(
        "/proc/self/mountinfo",
        "31 22 0:28 " + mounted + " /sys/fs/cgroup/memory rw shared:5 - cgroup cgroup rw,memory\n" +
            "32 22 0:29 " + mounted + " /sys/fs/cgroup/cpu,cpuacct rw shared:6 - cgroup cgroup rw,cpu,cpuacct"
    );
}

} // namespace

TEST_CASE("without control groups there is no limit") {
    const Tree tree;
    const auto memory = cgroup_memory(tree.root());
    CHECK_FALSE(memory.limit);
    CHECK_FALSE(memory.available);
    CHECK_FALSE(cgroup_cores(tree.root()));
}

TEST_CASE("version 2: the group's limits apply, and page cache counts as available") {
    Tree tree;
    mount_v2(tree, "/game");
    tree.put("/sys/fs/cgroup/game/memory.max", std::to_string(512 * kMega));
    tree.put("/sys/fs/cgroup/game/memory.current", std::to_string(300 * kMega));
    tree.put(
        "/sys/fs/cgroup/game/memory.stat", "anon 5\nfile 7\ninactive_file " + std::to_string(100 * kMega)
    );
    tree.put("/sys/fs/cgroup/game/cpu.max", "150000 100000");
    const auto memory = cgroup_memory(tree.root());
    CHECK(memory.limit == 512 * kMega);
    CHECK(memory.available == 312 * kMega);
    CHECK(cgroup_cores(tree.root()) == doctest::Approx(1.5));
}

TEST_CASE("the lowest limit of all ancestors applies, each less its own usage") {
    Tree tree;
    mount_v2(tree, "/a/b/c");
    tree.put("/sys/fs/cgroup/a/memory.max", std::to_string(256 * kMega));
    tree.put("/sys/fs/cgroup/a/memory.current", std::to_string(10 * kMega));
    tree.put("/sys/fs/cgroup/a/cpu.max", "400000 100000");
    tree.put("/sys/fs/cgroup/a/b/memory.max", "max");
    tree.put("/sys/fs/cgroup/a/b/memory.high", std::to_string(300 * kMega));
    tree.put("/sys/fs/cgroup/a/b/memory.current", std::to_string(290 * kMega));
    tree.put("/sys/fs/cgroup/a/b/cpu.max", "200000 100000");
    tree.put("/sys/fs/cgroup/a/b/c/memory.max", std::to_string(1024 * kMega));
    tree.put("/sys/fs/cgroup/a/b/c/memory.current", "0");
    tree.put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000");
    const auto memory = cgroup_memory(tree.root());
    CHECK(memory.limit == 256 * kMega);
    CHECK(memory.available == 10 * kMega);
    CHECK(cgroup_cores(tree.root()) == doctest::Approx(2));
}

TEST_CASE("version 1: limits and quotas apply") {
    Tree tree;
    mount_v1(tree, "/docker/42");
    tree.put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
    tree.put("/sys/fs/cgroup/memory/docker/42/memory.limit_in_bytes", std::to_string(64 * kMega));
    tree.put("/sys/fs/cgroup/memory/docker/42/memory.usage_in_bytes", std::to_string(40 * kMega));
    tree.put(
        "/sys/fs/cgroup/memory/docker/42/memory.stat", "total_inactive_file " + std::to_string(8 * kMega)
    );
    tree.put("/sys/fs/cgroup/cpu,cpuacct/docker/42/cpu.cfs_quota_us", "50000");
    tree.put("/sys/fs/cgroup/cpu,cpuacct/docker/42/cpu.cfs_period_us", "100000");
    tree.put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
    tree.put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
    const auto memory = cgroup_memory(tree.root());
    CHECK(memory.limit == 64 * kMega);
    CHECK(memory.available == 32 * kMega);
    CHECK(cgroup_cores(tree.root()) == doctest::Approx(0.5));
}

TEST_CASE("a container that sees its own group at the mount point finds its limits") {
    Tree tree;
    mount_v1(tree, "/docker/42", "/docker/42"); // without a cgroup namespace
    tree.put("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(64 * kMega));
    CHECK(cgroup_memory(tree.root()).limit == 64 * kMega);
    mount_v2(tree, "/../outside", "/..");
    tree.put("/sys/fs/cgroup/memory.max", std::to_string(32 * kMega));
    CHECK(cgroup_memory(tree.root()).limit == 32 * kMega);
    mount_v2(tree, "/not/mounted/here");
    CHECK(cgroup_memory(tree.root()).limit == 32 * kMega);
}

TEST_CASE("hybrid hierarchies and blanks in the mount point are read") {
    Tree tree;
    tree.put("/proc/self/cgroup", "3:memory:/game\n0::/game");
    tree.put(
        "/proc/self/mountinfo",
        "31 22 0:28 / /odd\\040place rw - cgroup cgroup rw,memory\n30 22 0:27 / /unified rw - cgroup2 none rw"
    );
    tree.put("/odd place/game/memory.limit_in_bytes", std::to_string(64 * kMega));
    tree.put("/unified/game/cpu.max", "300000 100000");
    const auto memory = cgroup_memory(tree.root());
    CHECK(memory.limit == 64 * kMega);
    CHECK(cgroup_cores(tree.root()) == doctest::Approx(3));
}

TEST_CASE("usable cores are limited by the CPU quota") {
    Tree tree;
    mount_v2(tree, "/game");
    const auto without = usable_cores_under(tree.root());
    tree.put("/sys/fs/cgroup/game/cpu.max", "150000 100000");
    CHECK(usable_cores_under(tree.root()) == 1);
    tree.put("/sys/fs/cgroup/game/cpu.max", "50000 100000");
    CHECK(usable_cores_under(tree.root()) == 1);
    tree.put("/sys/fs/cgroup/game/cpu.max", "6553600 100000");
    CHECK(usable_cores_under(tree.root()) == without);
    CHECK(usable_cores() == usable_cores_under({}));
}

TEST_CASE("available memory is limited by the group") {
    Tree tree;
    tree.put("/proc/meminfo", "MemFree: 1 kB\nMemTotal: 4194304 kB\nMemAvailable: 2097152 kB");
    const auto machine = system_memory_under(tree.root());
    REQUIRE(machine);
    CHECK(machine->total == 4096 * kMega);
    CHECK(machine->available == 2048 * kMega);
    mount_v2(tree, "/game");
    tree.put("/sys/fs/cgroup/game/memory.max", std::to_string(512 * kMega));
    tree.put("/sys/fs/cgroup/game/memory.current", std::to_string(300 * kMega));
    const auto group = system_memory_under(tree.root());
    REQUIRE(group);
    CHECK(group->total == 512 * kMega);
    CHECK(group->available == 212 * kMega);
    REQUIRE(system_memory());
    CHECK(system_memory()->total == system_memory_under({})->total);
}

TEST_CASE("implausible limits are ignored") {
    Tree tree;
    mount_v2(tree, "/game");
    tree.put("/sys/fs/cgroup/game/memory.max", "much");
    tree.put("/sys/fs/cgroup/game/cpu.max", "100000 0");
    tree.put("/sys/fs/cgroup/cpu.max", "");
    const auto memory = cgroup_memory(tree.root());
    CHECK_FALSE(memory.limit);
    CHECK_FALSE(cgroup_cores(tree.root()));
}
