#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""bench/report: tables from a run, and what a comparison of two runs says. Needs no GPU and no matplotlib."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPORT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "report" / "report.py"


def aggregates(name, median, cv=0.001, **counters):
    base = {"run_name": f"{name}/iterations:3/manual_time", "run_type": "aggregate", "time_unit": "ms"}
    return [base | {"name": f"{name}_median", "aggregate_name": "median", "real_time": median} | counters,
            base | {"name": f"{name}_cv", "aggregate_name": "cv", "real_time": cv}]


def run_of(*rows):
    return {"context": {}, "benchmarks": [row for group in rows for row in group]}


COMPRESS = "compress/bf16/16000x21504/zeros:0.90/sign"
DECOMPRESS = "decompress/bf16/16000x21504/zeros:0.90/sign"


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def report(self, *arguments):
        return subprocess.run([sys.executable, str(REPORT), *map(str, arguments)], capture_output=True, text=True)

    def write(self, name, run):
        (self.path / name).write_text(json.dumps(run))
        return self.path / name

    def test_tables_show_the_medians_and_leave_out_what_was_not_run(self):
        run = self.write("run.json", run_of(aggregates(COMPRESS, 0.2, fraction=0.974, ratio=6.1),
                                            aggregates(DECOMPRESS, 0.21, fraction=0.931)))
        result = self.report(run)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| bf16 | 0.974 / 0.931 |", result.stdout)
        self.assertIn("| fp16 | - |", result.stdout)

    def test_a_page_is_filled_between_its_markers_only(self):
        run = self.write("run.json", run_of(aggregates(COMPRESS, 0.2, fraction=0.974),
                                            aggregates(DECOMPRESS, 0.21, fraction=0.931)))
        (self.path / "benchmarks.md").write_text("before\n<!-- table sign -->\nold\n<!-- end -->\nafter\n")
        result = self.report(run, "--docs", self.path)
        self.assertEqual(result.returncode, 0, result.stderr)
        page = (self.path / "benchmarks.md").read_text()
        self.assertTrue(page.startswith("before\n<!-- table sign -->\n| element |"))
        self.assertTrue(page.endswith("<!-- end -->\nafter\n"))
        self.assertNotIn("old", page)

    def test_a_comparison_names_what_became_slower_and_what_is_gone(self):
        old = self.write("old.json", run_of(aggregates(COMPRESS, 0.200), aggregates(DECOMPRESS, 0.210)))
        slower = self.write("slower.json", run_of(aggregates(COMPRESS, 0.210)))
        result = self.report(slower, "--against", old)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{COMPRESS}: 0.2 -> 0.21 ms, +5.0%", result.stdout)
        self.assertIn(f"{DECOMPRESS}: no such row any more", result.stdout)
        same = self.report(old, "--against", old)
        self.assertEqual((same.returncode, same.stdout), (0, "nothing became slower\n"))

    def test_a_row_that_failed_is_said_and_not_shown(self):
        failed = {"name": COMPRESS, "run_name": COMPRESS, "error_occurred": True, "error_message": "not exact"}
        run = self.write("run.json", run_of([failed], aggregates(DECOMPRESS, 0.21, fraction=0.931)))
        result = self.report(run)
        self.assertIn(f"{COMPRESS}: not exact", result.stderr)


unittest.main()
