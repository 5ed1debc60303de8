# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""What the scripts that fill docs/benchmarks.md share: tables, the places between markers, matplotlib if it is there."""
import re
import sys


def table(header, lines):
    return "\n".join(["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] +
                     ["| " + " | ".join(line) + " |" for line in lines])


def fill(text, tables):
    for name, content in tables.items():
        pattern = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", re.S)
        text = pattern.sub(lambda m: m.group(1) + content + "\n" + m.group(2), text)
    return text


def pyplot(script):
    """matplotlib's pyplot, without a display; None, with a note, where it is not installed."""
    try:
        import matplotlib
    except ImportError:
        print(f"{script}: matplotlib is not installed; no figures drawn", file=sys.stderr)
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plots
    return plots
