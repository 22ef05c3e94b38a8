"""Which addresses a search fetches from, and the text of the pages that it gets."""

from __future__ import annotations

import ipaddress
import time

import pytest

from sotto.agent.search import addresses
from sotto.agent.search.addresses import is_public
from sotto.agent.search.page_text import page_text


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True), ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("::ffff:93.184.215.14", True),
        ("127.0.0.1", False), ("10.1.2.3", False), ("172.16.0.1", False), ("192.168.0.1", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("0.0.0.0", False), ("224.0.0.1", False),
        ("255.255.255.255", False), ("::1", False), ("::", False), ("fe80::1", False), ("fc00::1", False),
        ("ff02::1", False), ("::ffff:10.0.0.1", False), ("2002:7f00:1::", False), ("64:ff9b::a00:1", False),
        ("fec0::1", False), ("2001:db8::1", False), ("2001:0:53aa:64c::1", False), ("240.0.0.1", False),
    ],
)  # fmt: skip
def test_which_addresses_are_of_the_internet(address: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is public


def test_names_are_looked_up_and_checked() -> None:
    assert all(not is_public(one) for one in addresses.look_up("localhost", 80))
    assert addresses.look_up("localhost", 80)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("", ""),
        ("plain & simple", "plain & simple"),
        ("<p>One<br>two</p><p>three</p>", "One\n\ntwo\n\nthree"),
        ("<h1>Town</h1><p>A <b>gate</b>.", "# Town\n\nA gate."),
        ("<script>if (a < b) { x }</script>after", "after"),
        ("<SCRIPT src=x></SCRIPT ><p>after", "after"),
        ("<style>p { }</style><noscript>n</noscript><template>t</template>a", "a"),
        ("<svg/>after", "after"),
        ("<!-- <p>hidden</p> -->shown", "shown"),
        ("<!-- never closed", ""),
        ("<script>never closed", ""),
        ("a < b and c > d", "a < b and c > d"),
        ("a <", "a <"),
        ("<p", ""),
        ("&lt;p&gt; &amp; &#65; &#x41; &nosuch;", "<p> & A A &nosuch;"),
        ("&#" + "9" * 5000 + ";", "&#" + "9" * 5000 + ";"),
        ("<!DOCTYPE html><html><head><title>T</title></head><body>b", "T\n\nb"),
        ("\u0130<script>x</script>y", "\u0130y"),
        ("a\0b", "a\n\nb"),
    ],
)
def test_the_text_of_a_page(page: str, text: str) -> None:
    assert page_text(page) == text


@pytest.mark.parametrize(
    "piece", ["<", "<!--", "<script>", "<p ", "</", "&#", "<a <", "<![CDATA[", "<?", "&"]
)
def test_hostile_pages_cost_no_more_time(piece: str) -> None:
    began = time.monotonic()
    page_text(piece * ((1 << 20) // len(piece)))
    assert time.monotonic() - began < 10  # a second or less on an idle machine
