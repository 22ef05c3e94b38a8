"""Code in a sandbox tries to get out, or to what is not its own. It is refused, and the session goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import sotto
from conftest import ROOT
from sandboxes import HERE, LINUX, OUTER, open_sandbox
from sotto.agent import PythonSandbox, SandboxLimits
from sotto.agent.sandbox import seccomp

pytestmark = [pytest.mark.row("E-096"), pytest.mark.skipif(not LINUX, reason="sandboxes need Linux")]
SECRET = "sotto-secret-7d1f0c"
TRY = """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result
try:
{attempt}
except (OSError, ImportError, ValueError) as error:
    print("refused:", type(error).__name__)
else:
    print("ESCAPED", found if "found" in globals() else "")
"""

# Attempts that succeed outside, where a control runs them: files to read, and what a process may do.
READS = {
    "passwd": "/etc/passwd",
    "shadow": "/etc/shadow",
    "hosts": "/etc/hosts",
    "version": "/proc/version",
    "own memory map": "/proc/self/maps",
    "parent environment": "/proc/{pid}/environ",
    "parent memory map": "/proc/{pid}/maps",
    "parent command": "/proc/{pid}/cmdline",
    "first process": "/proc/1/cmdline",
    "kernel settings": "/proc/sys/kernel/hostname",
    "mounts": "/proc/self/mounts",
    "file of the host": "{secret}",
    "library": "{library}",
    "package": "{package}",
}
ACTS = {
    "fork": "found = os.fork() or os._exit(0)",
    "child process": "import subprocess; found = subprocess.run(['/bin/true'])",
    "spawn": "found = os.posix_spawn('/bin/true', ['true'], {{}})",
    "tcp socket": "found = socket.socket()",
    "udp socket": "found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
    "ipv6 socket": "found = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
    "unix socket": "found = socket.socket(socket.AF_UNIX)",
    "datagram pair": "found = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "netlink": "found = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "list root": "found = os.listdir('/')",
    "list temporary files": "found = os.listdir({tmp!r})",
    "list processes": "found = os.listdir('/proc')",
    "list devices": "found = os.listdir('/sys')",
    "write outside": "found = open({tmp!r} + '/sotto-escape', 'w')",
    "folder outside": "found = os.mkdir({tmp!r} + '/sotto-escape-folder')",
    "symbolic link": "found = os.symlink('/etc/passwd', 'link')",
    "hard link": "open('own', 'w').close(); found = os.link('own', 'other')",
    "hard link out": "found = os.link(os.__file__, 'own-os.py')",
    "named pipe": "found = os.mkfifo('pipe')",
    "set-user-id file": "open('own', 'w').close(); found = os.chmod('own', 0o4755)",
    "anonymous memory file": "found = os.memfd_create('x')",
    "temporary file without name": "found = os.open('.', os.O_TMPFILE | os.O_RDWR)",
    "raise a limit": "import resource; found = resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))",
    "signals of others": "found = os.kill({pid}, 0)",
    "group of others": "found = os.killpg(os.getpgrp(), 0)",
    "every process": "found = os.kill(-1, 0)",
    "new session": "found = os.setsid()",
    "outlive the parent": "found = checked(libc.prctl(1, 0, 0, 0, 0))",
    "dumps": "found = checked(libc.prctl(4, 1, 0, 0, 0))",
    "own signals by a file": "import fcntl; r, w = os.pipe(); found = fcntl.fcntl(r, fcntl.F_SETOWN, {pid})",
    "lease": "import fcntl; found = fcntl.fcntl(os.open('own2', 66, 384), fcntl.F_SETLEASE, fcntl.F_WRLCK)",
    "nice": "found = os.setpriority(os.PRIO_PROCESS, 0, 5)",
    "affinity": "found = os.sched_setaffinity(0, {{0}})",
    "truncate by name": "open('own', 'w').close(); found = os.truncate('own', 0)",
    "watch processes": "found = os.pidfd_open(os.getpid())",
}
# The same outside might do harm, or fails there too.
REFUSED = {
    "connect": "found = socket.create_connection(('127.0.0.1', 80), timeout=1)",
    "dns": "found = socket.getaddrinfo('example.com', 80)",
    "root": "found = os.listdir(os.path.expanduser('~root'))",
    "memory of the machine": "found = open('/dev/mem', 'rb').read(1)",
    "kernel memory": "found = open('/dev/kmem', 'rb').read(1)",
    "disk": "found = open('/dev/vda', 'rb').read(1)",
    "terminal": "found = open('/dev/tty')",
    "kernel core": "found = open('/proc/kcore', 'rb').read(1)",
    "kernel setting": "found = open('/proc/sys/kernel/hostname', 'w').write('x')",
    "trigger": "found = open('/proc/sysrq-trigger', 'w').write('h')",
    "core pattern": "found = open('/proc/sys/kernel/core_pattern', 'w').write('|/x')",
    "group": "found = open('/sys/fs/cgroup/cgroup.procs', 'w').write('0')",
    "change standard library": "found = open(os.__file__, 'a').write('#')",
    "remove standard library": "found = os.unlink(os.__file__)",
    "mode of standard library": "found = os.chmod(os.__file__, 0o777)",
    "time of standard library": "found = os.utime(os.__file__)",
    "bytecode": "found = open(os.path.dirname(os.__file__) + '/__pycache__/x.pyc', 'w')",
    "move out": "open('own', 'w').close(); found = os.rename('own', {tmp!r} + '/sotto-escape-moved')",
    "dot dot": "found = open('../../../../../../etc/passwd').read()",
    "device file": "found = os.mknod('null', 0o20666, os.makedev(1, 3))",
    "become root": "found = os.setuid(0)",
    "become root by groups": "found = os.setgroups([0])",
    "change root": "found = os.chroot('.')",
    "owner": "open('own', 'w').close(); found = os.chown('own', 0, 0)",
    "replace the program": "found = os.execv(sys.executable, ['python'])",
    "import sotto": "import sotto; found = sotto.__file__",
    "installed packages": "import cffi; found = cffi",
}


def fields(tmp: Path) -> dict[str, str]:
    secret = tmp / "secret"
    secret.write_text(SECRET)
    return {
        "pid": str(os.getpid()),
        "secret": str(secret),
        "tmp": str(tmp),
        "library": os.environ.get("SOTTO_LIBRARY") or sotto.__file__,
        "package": sotto.__file__,
    }


def attempts(names: dict[str, str], tmp: Path) -> dict[str, str]:
    """Returns the code of each attempt."""
    given = fields(tmp)
    codes = {}
    for name, text in names.items():
        line = f"found = open({text!r}, 'rb').read(64)" if text[0] in "/{" else text
        codes[name] = TRY.format(attempt="    " + line.format(**given))
    return codes


ALL = {**READS, **ACTS, **REFUSED}


@pytest.fixture(scope="module", params=HERE)
def sandbox(request: pytest.FixtureRequest) -> Iterator[PythonSandbox]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOTTO_TEST_SECRET", SECRET)
        with open_sandbox(request.param, SandboxLimits(time_limit=20, cpu_time=20)) as made:
            yield made


def test_this_machine_has_walls() -> None:
    assert HERE
    missing = [wall for wall in OUTER if wall not in HERE]
    print(f"rung: sandbox: {', '.join(HERE)}" + (f": not here: {', '.join(missing)}" if missing else ""))


@pytest.mark.parametrize("name", ALL)
def test_an_attempt_is_refused(sandbox: PythonSandbox, name: str, entered_path: Path) -> None:
    entered_path.chmod(0o777)
    code = attempts({name: ALL[name]}, entered_path)[name]
    result = sandbox.run(code)
    assert result.output.startswith("refused: "), result.output
    assert SECRET not in result.output and [one.name for one in entered_path.iterdir()] == ["secret"]
    assert sandbox.run("1 + 1").output == "2\n"


def test_the_same_succeeds_outside(tmp_path: Path) -> None:
    """A control: without a sandbox, what is refused in it works."""
    import concurrent.futures as pool

    codes = attempts({**READS, **ACTS}, tmp_path)
    if os.geteuid() != 0:
        for name in ("shadow", "first process"):
            codes.pop(name)

    def outside(name: str) -> str:
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        command = [sys.executable, "-I", "-S", "-c", codes[name]]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, start_new_session=name != "new session"
        )
        return done.stdout

    with pool.ThreadPoolExecutor(2) as threads:
        found = dict(zip(codes, threads.map(outside, codes), strict=True))
    may_fail = {"list devices", "ipv6 socket", "new session", "netlink", "hard link out"}
    refused = {name for name, text in found.items() if "ESCAPED" not in text}
    assert refused <= may_fail, {name: found[name] for name in refused - may_fail}


LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
CALLS = (ROOT / "tests" / "data" / "sandbox_calls.txt").read_text().split()


@pytest.mark.parametrize("name", CALLS)
def test_a_system_call_is_refused(sandbox: PythonSandbox, name: str) -> None:
    number = number_of(name)
    if number < 0:
        assert os.uname().machine != "x86_64"  # the processor has no such call
        return
    code = f"{LIBC}r = libc.syscall({number}, 0, 0, 0, 0, 0, 0)\n(r, ctypes.get_errno())"
    assert sandbox.run(code).output == "(-1, 1)\n"  # EPERM


def number_of(name: str) -> int:
    library = seccomp.library()
    assert library is not None
    return int(library.seccomp_syscall_resolve_name(name.encode()))


def test_new_threads_but_no_new_processes_by_clone(sandbox: PythonSandbox) -> None:
    code = (
        f"{LIBC}"
        "def call(*args): return libc.syscall(*(ctypes.c_ulong(one) for one in args)), ctypes.get_errno()\n"
    )
    clone, clone3 = number_of("clone"), number_of("clone3")
    for flags in (17, 0x10000000 | 17, 0x4111, 0x20000, 0x100 | 0x4000 | 17, 0x7C020000 | 17):
        assert sandbox.run(f"{code}call({clone}, {flags}, 0, 0, 0, 0)").output == "(-1, 1)\n"
    assert sandbox.run(f"{code}call({clone3}, 0, 88)").output == "(-1, 38)\n"
    assert sandbox.run(
        "import threading\nt = threading.Thread(target=print, args=(7,))\nt.start()\nt.join()"
    ).ok


@pytest.mark.skipif(os.uname().machine != "x86_64" if LINUX else True, reason="of x86-64")
def test_calls_of_another_architecture_end_the_process(sandbox: PythonSandbox) -> None:
    x32 = f"import ctypes\nctypes.CDLL(None).syscall({0x40000000 | 39})"  # getpid
    i386 = (
        "import ctypes, mmap\npage = mmap.mmap(-1, 4096, prot=7)\n"
        "page.write(bytes.fromhex('b814000000cd80c3'))\n"  # getpid by int 0x80
        "address = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "ctypes.CFUNCTYPE(ctypes.c_int)(address)()"
    )
    for code in (x32, i386):
        with pytest.raises(sotto.agent.SandboxError, match="SIGSYS"):
            sandbox.run(code, "x32")


SIGNAL_NEIGHBOURS = """
import os
for number in range({pid} - 3, {pid} + 4):
    try:
        os.kill(number, 29)
    except OSError:
        pass
"""


def test_extended_attributes_are_not_supported(sandbox: PythonSandbox) -> None:
    code = "import os\nopen('own', 'w').close()\n"
    for call in ("listxattr('/')", "getxattr(os.__file__, 'user.a')", "setxattr('own', 'user.a', b'')"):
        assert "[Errno 95]" in sandbox.run(f"{code}os.{call}").output


def test_signals_reach_the_process_itself_alone(sandbox: PythonSandbox) -> None:
    code = (
        "import os, signal\nheard = []\nsignal.signal(signal.SIGUSR1, lambda *a: heard.append(1))\n"
        "signal.raise_signal(signal.SIGUSR1); os.kill(os.getpid(), signal.SIGUSR1); heard"
    )
    assert sandbox.run(code).output == "[1, 1]\n"
    heard = threading.Event()
    before = signal.signal(signal.SIGIO, lambda *_: heard.set())
    try:
        result = sandbox.run(SIGNAL_NEIGHBOURS.format(pid=os.getpid()))
        assert result.ok and not heard.is_set()
    finally:
        signal.signal(signal.SIGIO, before)


def test_no_secret_of_the_host_is_inside(sandbox: PythonSandbox) -> None:
    shown = sandbox.run("import os, sys\ndict(os.environ), sys.argv, sys.path, sys.flags").output
    assert (
        SECRET not in shown
        and "SOTTO" not in shown
        and str(Path.home()) + "/." not in shown.replace("/.pyenv", "")
    )
    limited = sandbox.run("sorted(os.environ)").output
    assert limited == "['HOME', 'LC_ALL', 'MALLOC_ARENA_MAX', 'PATH', 'TMPDIR']\n"


def test_only_its_own_descriptors_are_open(sandbox: PythonSandbox, tmp_path: Path) -> None:
    (tmp_path / "open").write_text(SECRET)
    with open(tmp_path / "open") as file:
        os.set_inheritable(file.fileno(), True)
        result = sandbox.run(
            "import os, stat\nfound = []\n"
            "for n in range(300):\n"
            "    try: found.append((n, stat.S_IFMT(os.fstat(n).st_mode)))\n"
            "    except OSError: pass\n"
            "found",
            "descriptors",
        )
    found = dict(eval(result.output))
    kinds = sorted(found[n] for n in found if n)
    assert len(found) == 5 and kinds == [0o010000] * 3 + [0o140000]  # pipes and a socket, beside /dev/null


def test_it_is_no_root_and_has_no_capabilities(sandbox: PythonSandbox) -> None:
    user, groups = eval(sandbox.run("import os\n(os.getresuid(), os.getgroups())").output)
    assert (
        len(set(user)) == 1 and (user[0] != 0) and (groups in ([], list(os.getgroups())) or groups == [65534])
    )
    with sandbox._lock:
        pid = sandbox._sessions["main"].pid
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
    )
    assert int(status["CapBnd"], 16) == 0 or os.geteuid() != 0
    assert int(status["CapEff"], 16) in (0, 4) and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert status["CapEff"] == status["CapPrm"] and int(status["CapAmb"], 16) == 0


def test_sessions_do_not_see_each_other(sandbox: PythonSandbox) -> None:
    one = sandbox.run(
        "import os\nopen('mine', 'w').write('1')\nopen(1, 'w', closefd=False).write(os.getcwd())", "one"
    )
    folder = one.output.split("\n")[0].rstrip("1")
    assert folder.startswith("/")
    other = sandbox.run(f"open({folder + '/mine'!r}).read()", "two")
    assert not other.ok and "Error" in other.output
    assert not sandbox.run(f"import os\nos.listdir({folder!r})", "two").ok
    assert not sandbox.run(f"open({folder + '/yours'!r}, 'w')", "two").ok
