#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""bench/report/training.py: tables from runs of the training programs. Needs no GPU and no matplotlib."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPORT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "report" / "training.py"


def mode(name, ms, peak_mib, extra):
    times = {"mean": ms, "interval95": 0.5, "ratio_to_dense": {"mean": ms / 200, "interval95": 0.002}}
    return {"mode": name, "graph_ms": times, "eager_ms": None, "peak_bytes": {"total": peak_mib << 20}, "max_tokens": 1234567.8,
            "activation_bytes_per_token": 5000.4, "predicted_extra_ms": extra, "measured_extra_ms": {"mean": extra, "interval95": 0.1}}


RUN = {"preset": "paper", "element": "bf16", "activation": "relu2", "layers": 8, "width": 64, "hidden": 256, "tokens": 16000,
       "density_by_layer": [0.2, 0.21], "modes": [mode("dense", 200, 1000, 0), mode("sign", 199, 700, -1.5)]}
TRAINED = {"runs": [{"mode": "dense", "losses": [5.5, 1.2345678901234], "losses_differing_from_dense": 0},
                    {"mode": "sign", "losses": [5.5, 1.2345678901234], "losses_differing_from_dense": 0,
                     "density_by_step": {"layer_0": [0.5, 0.123456]}}]}
PYTORCH = {"arguments": {"activation": "relu"}, "runs": [{"zeros": [0.5], "modes": [
    {"mode": "dense", "ms": 200.0, "ms_low": 199.0, "ms_high": 201.0, "peak_mib": 9000.0, "equals_dense": True},
    {"mode": "sign", "ms": 202.0, "ms_low": 201.0, "ms_high": 203.0, "peak_mib": 7000.0, "equals_dense": True}]}]}
OPS = {"benchmarks": [{"run_name": f"forward/relu/bf16/16000x21504/{end}/iterations:5/manual_time", "name": "", "aggregate_name": "median",
                       "real_time": 0.4321, "fraction": 0.9512} for end in ("dense", "zeros:0.50/sign")]}


class TrainingReportTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        for name, content in (("run", RUN), ("trained", TRAINED), ("pytorch_run", PYTORCH), ("ops", OPS)):
            (self.path / f"{name}.json").write_text(json.dumps(content))
        self.report("--join", self.path / "ffn.json", self.path / "run.json", self.path / "trained.json")
        self.report("--join", self.path / "pytorch.json", self.path / "pytorch_run.json")

    def tearDown(self):
        self.folder.cleanup()

    def report(self, *arguments):
        done = subprocess.run([sys.executable, str(REPORT), *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_joining_keeps_what_tells_losses_apart(self):
        joined = json.loads((self.path / "ffn.json").read_text())["runs"]
        self.assertEqual(joined[1]["runs"][0]["losses"], [5.5, 1.23456789])
        self.assertEqual(joined[1]["runs"][1]["density_by_step"], [[0.5, 0.1235]])
        self.assertEqual(joined[0]["modes"][1]["peak_bytes"]["total"], 700 << 20)

    def test_tables(self):
        text = self.report(self.path / "ffn.json", "--pytorch", self.path / "pytorch.json", "--ops", self.path / "ops.json")
        self.assertIn("paper, bf16, ReLU², 80 % zeros: 8 layers, 64 -> 256, 16,000 tokens", text)
        self.assertIn("| `sign` | 199.00 / - | 0.9950 ± 0.0020 | 700 | 0.70 | 5,000 | 1,234,568 | -1.50 | -1.50 ± 0.10 |", text)
        self.assertIn("| sign | 5.500000 -> 1.234568 | 0 |", text)
        self.assertIn("|  | `sign` | 202.0 (201.0 to 203.0) | 1.010 | 7,000 | yes |", text)
        self.assertIn("| `forward/relu` | 0.432 (0.951) | 0.432 (0.951) | - |", text)

    def test_a_page_is_filled_between_its_markers(self):
        page = self.path / "benchmarks.md"
        page.write_text("before\n<!-- table losses -->\nold\n<!-- end -->\nafter\n")
        self.report(self.path / "ffn.json", "--docs", self.path)
        text = page.read_text()
        self.assertTrue(text.startswith("before\n<!-- table losses -->\n| mode |"))
        self.assertTrue(text.endswith("<!-- end -->\nafter\n"))
        self.assertNotIn("old", text)


unittest.main()
