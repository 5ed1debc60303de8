#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""Tests of bitsparse_inspect.

usage: inspect_test.py BITSPARSE_INSPECT DATA_FOLDER [--update] [unittest options]
"""
import json
import os
import pathlib
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import inspect_files as files

TOOL = ""
DATA = pathlib.Path()
KEYS = [
    "file", "dtype", "rows", "cols", "codec", "backend", "density", "dense_bytes", "compressed_bytes",
    "ratio", "bound_ratio", "entropy_ratio", "exact", "tiles",
]
SLICES = [f"relu_gpt_layer{layer}_128x3072_bf16.bin" for layer in ("00", "03", "07", "11")]
CODECS = ["fast", "sign", "compact"]
TILES = {  # the default first
    "bf16": ["32x128", "64x64", "64x128"],
    "fp16": ["32x128", "64x64", "64x128"],
    "fp32": ["32x64", "64x32", "64x64"],
    "e4m3": ["32x256", "64x128", "64x256"],
    "e5m2": ["32x256", "64x128", "64x256"],
}


def slices_output(codec):
    """The JSON lines for the real activations, named without a folder."""
    command = [TOOL, *SLICES, "--dtype", "bf16", "--shape", "128x3072", "--codec", codec,
               "--backend", "host", "--json"]
    return subprocess.run(command, cwd=DATA, capture_output=True, check=True).stdout.decode()


class InspectTest(unittest.TestCase):
    """A temporary folder, and ways to run the tool in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        (self.folder / name).write_bytes(content)
        return name

    def run_tool(self, *arguments, backend="host", **options):
        command = [TOOL, *arguments] + (["--backend", backend] if backend else [])
        return subprocess.run(command, cwd=self.folder, stdout=options.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, timeout=300, **options)

    def reports(self, *arguments, code=0, **options):
        """The objects of a --json run, and stderr's lines."""
        done = self.run_tool(*arguments, "--json", **options)
        errors = done.stderr.decode().splitlines()
        self.assertEqual(done.returncode, code, errors)
        found = [json.loads(line) for line in done.stdout.decode().splitlines()]
        for report in found:
            self.assertEqual(list(report), KEYS)
        return found, errors

    def report(self, *arguments, **options):
        found, errors = self.reports(*arguments, **options)
        self.assertEqual((len(found), errors), (1, []))
        self.assertTrue(found[0]["exact"])
        return found[0]

    def assert_fails(self, reason, *arguments, name=None, code=1):
        """One line on stderr, which names the file or option and the reason."""
        found, errors = self.reports(*arguments, code=code)
        self.assertEqual(found, [])
        self.assertEqual(len(errors), 1, errors)
        self.assertTrue(errors[0].startswith("bitsparse_inspect: "), errors[0])
        self.assertIn(reason, errors[0])
        if name is not None:
            self.assertIn(name + ": ", errors[0])


class RealActivations(InspectTest):
    def test_every_codec_gives_the_expected_report(self):
        expected = (DATA / "inspect_expected.jsonl").read_text().splitlines()
        found = "".join(slices_output(codec) for codec in CODECS).splitlines()
        self.assertEqual(len(found), len(SLICES) * len(CODECS))
        self.assertEqual(len(found), len(expected))
        for line, wanted in zip(found, expected):
            line, wanted = json.loads(line), json.loads(wanted)
            self.assertEqual(list(line), KEYS)
            for key in KEYS:
                if isinstance(wanted[key], float):
                    self.assertAlmostEqual(line[key], wanted[key], places=6)
                else:
                    self.assertEqual(line[key], wanted[key], key)
            self.assertTrue(line["exact"])

    def test_density_and_bounds_are_those_that_python_counts(self):
        for name in SLICES:
            content = (DATA / name).read_bytes()
            wanted = files.bf16_statistics(content)
            found = self.report(str(DATA / name), "--dtype", "bf16", "--shape", "128x3072")
            for key, value in wanted.items():
                self.assertAlmostEqual(found[key], value, places=6)
            self.assertAlmostEqual(found["ratio"], len(content) / found["compressed_bytes"], places=6)

    def test_text_has_a_total_and_no_progress_without_a_terminal(self):
        done = self.run_tool(*[str(DATA / name) for name in SLICES], "--dtype=bf16", "--shape=128x3072")
        text = done.stdout.decode()
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn("total: 4 of 4 files exact", text)
        for name in SLICES:
            self.assertIn(name, text)
        for word in ("density", "ratio", "bound", "flat/sign", "###", "GB/s"):
            self.assertEqual(text.count(word) >= 4, True, word)

    def test_auto_says_which_backend_ran(self):
        arguments = [str(DATA / SLICES[0]), "--dtype", "bf16", "--shape", "128x3072"]
        found = self.report(*arguments, backend="auto")
        text = self.run_tool(*arguments, backend=None).stdout.decode()
        self.assertIn(found["backend"], ("host", "cuda"))
        self.assertTrue(text.startswith("backend: " + found["backend"]), text)

    def test_cuda_runs_or_says_why_not(self):
        arguments = [str(DATA / SLICES[0]), "--dtype", "bf16", "--shape", "128x3072"]
        if self.report(*arguments, backend="auto")["backend"] == "cuda":
            self.assertEqual(self.report(*arguments, backend="cuda")["backend"], "cuda")
            return
        done = self.run_tool(*arguments, backend="cuda")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertRegex(done.stderr.decode(), r"^bitsparse_inspect: --backend cuda: \w.*\n$")


class Values(InspectTest):
    def test_every_bit_pattern_of_each_element_comes_back(self):
        self.write("all16", struct.pack("<65536H", *range(65536)))
        self.write("all8", bytes(range(256)) * 64)
        for codec in CODECS:
            for dtype in ("bf16", "fp16"):
                self.report("all16", "--dtype", dtype, "--shape", "256x256", "--codec", codec)
            self.report("all16", "--dtype", "fp32", "--shape", "1x32768", "--codec", codec)
            for dtype in ("e4m3", "e5m2"):
                self.report("all8", "--dtype", dtype, "--shape", "64x256", "--codec", codec)

    def test_odd_shapes(self):
        for rows, cols in ((1, 1), (1, 31), (33, 1), (65, 129), (63, 65), (3, 1000), (1000, 3)):
            for dtype, value_bytes in (("bf16", 2), ("fp32", 4), ("e4m3", 1)):
                content = files.sparse_values(rows * cols, value_bytes)
                name = self.write("odd", content)
                for codec in CODECS:
                    found = self.report(name, "--dtype", dtype, "--shape", f"{rows}x{cols}", "--codec", codec)
                    self.assertEqual(found["dense_bytes"], len(content))
                    self.assertLessEqual(found["compressed_bytes"],
                                         (len(content) + 15 * sum(found["tiles"].values())) // 16 * 16
                                         + 8 * sum(found["tiles"].values()))

    def test_empty_shapes(self):
        self.write("empty", b"")
        for shape in ("0x0", "0x5", "5x0", "0x18446744073709551615", "18446744073709551615x0"):
            found = self.report("empty", "--dtype", "bf16", "--shape", shape)
            self.assertEqual((found["dense_bytes"], found["compressed_bytes"], found["tiles"]), (0, 0, {}))
            for key in ("density", "ratio", "bound_ratio", "entropy_ratio"):
                self.assertIsNone(found[key])
            self.assertEqual(self.run_tool("empty", "--dtype", "bf16", "--shape", shape).returncode, 0)

    def test_zeros_have_no_bound(self):
        self.write("zeros", bytes(65 * 65 * 2))
        found = self.report("zeros", "--dtype", "bf16", "--shape", "65x65")
        self.assertEqual((found["density"], found["compressed_bytes"], found["tiles"]), (0, 24, {"zero": 3}))
        self.assertIsNone(found["bound_ratio"])
        self.assertIsNone(found["entropy_ratio"])
        self.assertIn("unbounded", self.run_tool("zeros", "--dtype", "bf16", "--shape", "65x65").stdout.decode())

    def test_no_zeros_never_expand(self):
        self.write("full", b"\x80\xbf" * 32 * 128)
        found = self.report("full", "--dtype", "bf16", "--shape", "32x128", "--codec", "sign")
        self.assertEqual((found["tiles"], found["compressed_bytes"]), ({"dense": 1}, 8192 + 8))

    def test_tiles(self):
        for dtype, tiles in TILES.items():
            value_bytes = {"bf16": 2, "fp16": 2, "fp32": 4, "e4m3": 1, "e5m2": 1}[dtype]
            name = self.write("tiled", files.sparse_values(200 * 200, value_bytes))
            shape = ["--dtype", dtype, "--shape", "200x200"]
            for tile in tiles:
                rows, cols = map(int, tile.split("x"))
                found = self.report(name, *shape, "--tile", tile)
                self.assertEqual(sum(found["tiles"].values()), -(-200 // rows) * -(-200 // cols))
            default = self.report(name, *shape)
            self.assertEqual(default, self.report(name, *shape, "--tile", tiles[0], "--codec", "sign"))
            for tile in tiles:
                self.assert_fails(tile, name, *shape, "--tile", "16x16", name="--tile", code=2)


class Choose(InspectTest):
    CHOICE_KEYS = ["choose", "bytes_saved", "compress_time_ratio", "decompress_time_ratio"]

    def choice(self, name, shape, *options, dtype="bf16"):
        """The choice of a --json run, whose other lines are those of a run per codec."""
        arguments = [name, "--dtype", dtype, "--shape", shape]
        done = self.run_tool(*arguments, "--codec", "choose", "--json", *options)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        *reports, choice = [json.loads(line) for line in done.stdout.decode().splitlines()]
        self.assertEqual(reports, [self.report(*arguments, "--codec", codec) for codec in CODECS])
        self.assertEqual(list(choice), self.CHOICE_KEYS)
        stored = {report["codec"]: report["compressed_bytes"] for report in reports}
        self.assertEqual(choice["bytes_saved"], stored["fast"] - stored[choice["choose"]])
        taken = "fast"
        for codec in CODECS[1:]:
            if stored[taken] and stored[codec] <= 0.97 * stored[taken]:
                taken = codec
        self.assertEqual(choice["choose"], taken)
        if taken == "fast":
            self.assertEqual((choice["compress_time_ratio"], choice["decompress_time_ratio"]), (1, 1))
        self.assertGreater(min(choice["compress_time_ratio"], choice["decompress_time_ratio"]), 0)
        return taken

    def test_real_activations_choose_compact(self):
        for name in SLICES:
            self.assertEqual(self.choice(str(DATA / name), "128x3072"), "compact")

    def test_dense_random_values_choose_fast(self):
        self.write("dense", random.Random(1).randbytes(200 * 200 * 2))
        self.assertEqual(self.choice("dense", "200x200"), "fast")

    def test_sparse_values_without_a_window_choose_sign(self):
        self.write("sparse", files.sparse_values(256 * 256, 4, every=2))
        self.assertEqual(self.choice("sparse", "256x256", dtype="fp32"), "fast")  # sign saves less than 3 %
        values = [0x0001 + 0x0137 * (i % 100) if i % 2 else 0 for i in range(256 * 256)]
        self.write("sparse", struct.pack(f"<{len(values)}H", *values))
        self.assertEqual(self.choice("sparse", "256x256"), "sign")

    def test_zeros_and_no_values_choose_fast(self):
        self.write("zeros", bytes(65 * 65 * 2))
        self.assertEqual(self.choice("zeros", "65x65"), "fast")
        self.write("empty", b"")
        for shape in ("0x0", "0x5", "5x0"):
            self.assertEqual(self.choice("empty", shape), "fast")
            text = self.run_tool("empty", "--dtype", "bf16", "--shape", shape, "--codec", "choose").stdout.decode()
            self.assertIn("compress 1.00 x, decompress 1.00 x its time", text)

    def test_text_has_a_line_per_codec_and_the_reason(self):
        done = self.run_tool(*[str(DATA / name) for name in SLICES], "--dtype", "bf16", "--shape", "128x3072",
                             "--codec", "choose")
        text = done.stdout.decode()
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for codec in CODECS:
            line = rf"(?m)^  {codec} +\d+ bytes, ratio [\d.]+" + "".join(
                rf", {verb} [\d.]+ ms \([\d.]+ GB/s\)" for verb in ("compress", "decompress")) + "$"
            self.assertEqual(len(re.findall(line, text)), 4, text)
        reason = (r"(?m)^  choose: compact: \d+\.\d % fewer bytes than fast; "
                  r"compress \d+\.\d\d x, decompress \d+\.\d\d x its time$")
        self.assertEqual(len(re.findall(reason, text)), 4, text)
        self.assertIn("total: 4 of 4 files exact", text)

    def test_out_is_the_chosen_codecs_file(self):
        name, options = str(DATA / SLICES[0]), ["--dtype", "bf16", "--shape", "128x3072"]
        self.run_tool(name, *options, "--codec", "choose", "--out", "chosen")
        self.report(name, *options, "--codec", "compact", "--out", "compact")
        self.assertEqual((self.folder / "chosen").read_bytes(), (self.folder / "compact").read_bytes())
        self.report(name, *options, "--codec", "sign", "--out", "sign")
        for form in ("sign", "compact"):
            done = self.run_tool(form, "--codec", "choose", "--out", "back")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual((self.folder / "back").read_bytes(), (DATA / SLICES[0]).read_bytes())

    def test_errors_are_the_usual_ones(self):
        self.write("short", bytes(11))
        shape = ["--dtype", "bf16", "--shape", "2x3", "--codec", "choose"]
        self.assert_fails("takes 12 bytes, but it holds 11", "short", *shape, name="short")
        self.assert_fails("need --dtype and --shape", "short", "--codec", "choose", name="short")
        self.assert_fails("given twice", "short", *shape, "--codec", "sign", name="--codec", code=2)
        for backend in ("tpu", ""):
            done = self.run_tool("short", *shape, "--backend=" + backend, backend=None)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (2, b"", 1))
            self.assertIn(f"--backend: '{backend}' is none of auto, cuda, host", done.stderr.decode())


class Npy(InspectTest):
    def test_versions_and_float_dtypes(self):
        for version in (1, 2, 3):
            for descr, dtype, value_bytes in (("<f2", "fp16", 2), ("<f4", "fp32", 4)):
                content = files.sparse_values(15 * 20, value_bytes)
                name = self.write("x.npy", files.npy(descr, (15, 20), content, version))
                found = self.report(name)
                self.assertEqual((found["dtype"], found["rows"], found["cols"]), (dtype, 15, 20))
                self.assertEqual(found, self.report(name, "--dtype", dtype, "--shape", "15x20"))

    def test_integer_and_void_dtypes_need_a_name(self):
        for descr, dtype in (("<u2", "bf16"), ("<i2", "fp16"), ("|V2", "bf16"), ("|u1", "e4m3"),
                             ("|i1", "e5m2"), ("<f1", "e4m3"), ("<u4", "fp32")):
            value_bytes = int(descr[-1])
            name = self.write("x.npy", files.npy(descr, (8, 9), files.sparse_values(72, value_bytes)))
            self.assertEqual(self.report(name, "--dtype", dtype)["dtype"], dtype)
            self.assert_fails(f"add --dtype", name, name=name)
            self.assert_fails(dtype, name, name=name)
            other = {1: "bf16", 2: "e4m3", 4: "bf16"}[value_bytes]
            self.assert_fails(f"--dtype {other}", name, "--dtype", other, name=name)

    def test_dimensions(self):
        for shape, rows, cols in (((), 1, 1), ((7,), 1, 7), ((3, 7), 3, 7), ((2, 3, 7), 6, 7),
                                  ((2, 2, 3, 7), 12, 7), ((0,), 1, 0), ((0, 7), 0, 7), ((7, 0), 7, 0),
                                  ((2**40, 2**40, 0, 3), 0, 3)):
            content = files.sparse_values(rows * cols, 4)
            found = self.report(self.write("x.npy", files.npy("<f4", shape, content)))
            self.assertEqual((found["rows"], found["cols"]), (rows, cols), shape)

    def test_header_spellings(self):
        content = files.sparse_values(6, 2)
        for text in ("{'shape': (2, 3), 'fortran_order': False, 'descr': '<f2'}\n",
                     '{"descr":"<f2","fortran_order":False,"shape":(2,3)}',
                     "{ 'descr' : '<f2' , 'fortran_order' : False , 'shape' : ( 2L , 3L , ) , }   \n"):
            found = self.report(self.write("x.npy", files.npy_from_text(text, content)))
            self.assertEqual((found["rows"], found["cols"]), (2, 3))

    def test_same_values_give_the_same_report_raw_and_npy(self):
        content = (DATA / SLICES[1]).read_bytes()
        raw = self.report(self.write("raw", content), "--dtype", "bf16", "--shape", "128x3072")
        npy = self.report(self.write("x.npy", files.npy("<u2", (2, 64, 3072), content)), "--dtype", "bf16")
        self.assertEqual({**npy, "file": "raw"}, raw)

    def test_faults_are_named(self):
        good = files.npy("<f2", (2, 3), files.sparse_values(6, 2))
        faults = [
            (files.npy("<f2", (2, 3), bytes(12), fortran=True), "Fortran order"),
            (files.npy(">f2", (2, 3), bytes(12)), "big-endian"),
            (files.npy("<f8", (2, 3), bytes(48)), "'<f8'"),
            (files.npy("<c8", (2, 3), bytes(48)), "'<c8'"),
            (files.npy("|b1", (2, 3), bytes(6)), "'|b1'"),
            (files.npy("<u3", (2, 3), bytes(18)), "'<u3'"),
            (files.npy("", (2, 3), bytes(18)), "dtype ''"),
            (files.npy_from_text("{'descr': [('a', '<f2')], 'fortran_order': False, 'shape': (2,)}", b""), "structured"),
            (files.npy_from_text("{'descr': '<f2', 'fortran_order': False}", b""), "lacks"),
            (files.npy_from_text("{'descr': '<f2', 'fortran_order': False, 'shape': (2, -3)}", b""), "lacks a dimension"),
            (files.npy_from_text("{'descr': '<f2', 'fortran_order': 0, 'shape': (2, 3)}", b""), "fortran_order"),
            (files.npy_from_text("{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3)} x", b""), "follows"),
            (files.npy_from_text("{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), 'k': 1}", b""), "'k'"),
            (files.npy_from_text("{'descr': '<f2', 'shape': (2 3)}", b""), "malformed"),
            (files.npy_from_text("{'descr': '<f2", b""), "malformed"),
            (files.npy_from_text("", b""), "malformed"),
            (files.npy("<f2", (2**64, 3), bytes(12)), "overflows"),
            (files.npy("<f2", (2**40, 2**40, 3), bytes(12)), "overflows"),
            (files.npy("<f2", (2**40, 2**40), bytes(12)), "overflows"),
            (files.npy("<f2", (2**62, 2), bytes(12)), "overflows"),
            (good[:6] + b"\x04\x00" + good[8:], "version 4.0"),
            (good[:-1], "wrong size"),
            (good + b"\0", "wrong size"),
            (good[:40], "ends early"),
            (good[:9], "ends early"),
            (good[:6], "ends early"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + good[10:], "ends early"),
            (good[1:], "does not start as"),
            (b"", "does not start as"),
        ]
        for i, (content, reason) in enumerate(faults):
            with self.subTest(i):
                self.assert_fails(reason, self.write("x.npy", content), name="x.npy")
        self.write("x.npy", good)
        self.assert_fails("--dtype says bf16", "x.npy", "--dtype", "bf16", name="x.npy")
        self.assert_fails("--shape says 3x2", "x.npy", "--shape", "3x2", name="x.npy")
        self.assert_fails(", ".join(TILES["fp16"]), "x.npy", "--tile", "16x16", name="x.npy")


class Errors(InspectTest):
    RAW = ("--dtype", "bf16", "--shape", "2x3")

    def test_each_fault_is_one_line_and_the_other_files_are_done(self):
        self.write("good", bytes(range(12)))
        self.write("short", bytes(11))
        self.write("long", bytes(13))
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "pipe")
        self.write("line\nbreak", b"1")
        found, errors = self.reports("good", "short", "", "missing", "folder", "long", "pipe", "line\nbreak",
                                     "good", *self.RAW, code=1)
        self.assertEqual([report["file"] for report in found], ["good", "good"])
        wanted = [("short: ", "takes 12 bytes, but it holds 11"), ("'': ", "empty"),
                  ("missing: ", "No such file"), ("folder: ", "directory"),
                  ("long: ", "takes 12 bytes, but it holds 13"), ("pipe: ", "not a regular file"),
                  ("line\\x0abreak: ", "wrong size")]
        self.assertEqual(len(errors), len(wanted))
        for line, (name, reason) in zip(errors, wanted):
            self.assertTrue(line.startswith("bitsparse_inspect: " + name), line)
            self.assertIn(reason, line)
        text = self.run_tool("good", "short", *self.RAW)
        self.assertEqual(text.returncode, 1)
        self.assertIn("total: 1 of 2 files exact", text.stdout.decode())

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_an_unreadable_file(self):
        self.write("secret", bytes(12))
        (self.folder / "secret").chmod(0)
        self.assert_fails("Permission denied", "secret", *self.RAW, name="secret")

    def test_raw_values_need_dtype_and_shape(self):
        self.write("raw", bytes(12))
        self.assert_fails("need --dtype and --shape", "raw", name="raw")
        self.assert_fails("need --dtype and --shape", "raw", "--dtype", "bf16", name="raw")
        self.assert_fails("need --dtype and --shape", "raw", "--shape", "2x3", name="raw")
        self.assert_fails("overflows", "raw", "--dtype", "bf16", "--shape", "9223372036854775808x2", name="raw")
        self.assert_fails("overflows", "raw", "--dtype", "fp32", "--shape", "4611686018427387904x1", name="raw")

    def test_the_command_line(self):
        self.write("raw", bytes(12))
        wrong = [
            ([], "no FILE"),
            (["raw", "--frobnicate"], "--frobnicate: unknown option"),
            (["raw", "-x"], "-x: unknown option"),
            (["raw", "--json=1"], "--json: it takes no value"),
            (["raw", "--dtype", "bf17"], "--dtype: 'bf17' is none of bf16, fp16, fp32, e4m3, e5m2"),
            (["raw", "--dtype", ""], "--dtype: ''"),
            (["raw", "--codec", "best"], "--codec: 'best' is none of fast, sign, compact, choose"),
            (["raw", "--backend", "tpu"], "--backend: 'tpu'"),
            (["raw", "--out", ""], "--out: ''"),
            (["raw", "raw", "--out", "x"], "--out takes one FILE"),
            (["raw", "--json", "--json"], "--json: given twice"),
        ]
        for option, value in (("--dtype", "bf16"), ("--shape", "2x3"), ("--codec", "sign"), ("--tile", "64x64"),
                              ("--backend", "host"), ("--out", "x")):
            wrong.append(([option, value, "raw", option, value], option + ": given twice"))
            wrong.append(([f"{option}={value}", "raw", option, value], option + ": given twice"))
        for option in ("--dtype", "--shape", "--codec", "--tile", "--backend", "--out"):
            wrong.append((["raw", option], option + ": it needs a value"))
            wrong.append((["raw", option, "--json"], option + ": it needs a value"))
        for shape in ("", "x", "2", "2x", "x3", "2x3x4", "-2x3", "+2x3", " 2x3", "2x3 ", "2.0x3", "0x10x2",
                      "18446744073709551616x1", "2X3"):
            wrong.append((["raw", "--shape", shape], f"--shape: '{shape}' is not ROWSxCOLS"))
        wrong.append((["raw", "--tile", "4294967296x64"], "--tile: '4294967296x64' is not ROWSxCOLS"))
        for arguments, reason in wrong:
            with self.subTest(arguments):
                done = self.run_tool(*arguments, backend=None)
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertEqual(done.stderr.count(b"\n"), 1)
                self.assertIn(reason, done.stderr.decode())

    def test_help_version_and_end_of_options(self):
        for option, word in (("--help", "usage: bitsparse_inspect"), ("--version", "bitsparse_inspect ")):
            done = self.run_tool(option, backend=None)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertTrue(done.stdout.decode().startswith(word))
        self.assertRegex(done.stdout.decode(), r"^bitsparse_inspect \d+\.\d+\.\d+\n$")
        self.write("--odd", bytes(12))
        done = self.run_tool("--backend", "host", *self.RAW, "--", "--odd", backend=None)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_names_in_json(self):
        names = ['quote"back\\slash', "tab\tline\n\x01", "ü€𝄞", b"bad\xff\xc0\xaf\xed\xa0\x80"]
        wanted = names[:3] + ["bad" + "\ufffd" * 6]
        for name, expected in zip(names, wanted):
            path = os.path.join(os.fsencode(self.folder), os.fsencode(name))
            with open(path, "wb") as file:
                file.write(bytes(12))
            self.assertEqual(self.report(name, *self.RAW)["file"], expected)

    def test_too_little_memory(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        if self.run_tool("--version", backend=None, preexec_fn=limit).returncode != 0:
            self.skipTest("the tool does not start in 1 GiB of address space")
        with open(self.folder / "large", "wb") as file:
            file.truncate(1 << 31)  # sparse: takes no room on disk
        self.write("small", b"")
        done = self.run_tool("large", "large", "--dtype", "bf16", "--shape", "32768x32768", preexec_fn=limit)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.decode(), "bitsparse_inspect: large: not enough memory\n" * 2)

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_a_full_standard_output(self):
        self.write("raw", bytes(range(12)))
        with open("/dev/full", "wb") as full:
            done = self.run_tool("raw", *self.RAW, stdout=full)
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1))

    def test_progress_goes_to_a_terminal(self):
        self.write("a", bytes(12))
        self.write("b", bytes(12))
        leader, follower = os.openpty()
        command = [TOOL, "a", "b", *self.RAW, "--backend", "host", "--json"]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=follower, timeout=60)
        os.close(follower)
        shown = os.read(leader, 65536).decode()
        os.close(leader)
        self.assertEqual(done.returncode, 0)
        self.assertIn("[1/2] a", shown)
        self.assertIn("[2/2] b", shown)
        self.assertEqual(len(done.stdout.splitlines()), 2)


class Serialized(InspectTest):
    def make(self, name, rows, cols, *options, dtype="bf16", content=None):
        """Writes a serialised file. Returns its dense bytes."""
        value_bytes = {"bf16": 2, "fp16": 2, "fp32": 4, "e4m3": 1, "e5m2": 1}[dtype]
        content = files.sparse_values(rows * cols, value_bytes) if content is None else content
        self.write("dense", content)
        self.report("dense", "--dtype", dtype, "--shape", f"{rows}x{cols}", "--out", name, *options)
        return content

    def test_round_trip(self):
        for dtype, tiles in TILES.items():
            for codec in CODECS:
                for rows, cols in ((65, 130), (1, 1), (0, 4), (4, 0)):
                    tile = tiles[(rows + cols) % 3]
                    dense = self.make("x.bsp", rows, cols, "--codec", codec, "--tile", tile, dtype=dtype)
                    found = self.report("x.bsp", "--out", "back")
                    self.assertEqual((self.folder / "back").read_bytes(), dense)
                    self.assertEqual((found["dtype"], found["rows"], found["cols"], found["codec"]),
                                     (dtype, rows, cols, codec))
                    tiles_bytes = 8 * sum(found["tiles"].values())
                    padded_bytes = (tiles_bytes + 15) // 16 * 16
                    self.assertEqual((self.folder / "x.bsp").stat().st_size,
                                     64 + padded_bytes + found["compressed_bytes"] - tiles_bytes)
        self.assertIn("compressed again it is the same", self.run_tool("x.bsp").stdout.decode())

    def test_real_activations(self):
        content = (DATA / SLICES[0]).read_bytes()
        for codec in CODECS:
            self.make("x.bsp", 128, 3072, "--codec", codec, content=content)
            self.report("x.bsp", "--out", "back")
            self.assertEqual((self.folder / "back").read_bytes(), content)

    def test_options_that_contradict_the_file(self):
        self.make("x.bsp", 65, 130)
        for option, same, other in (("--dtype", "bf16", "fp16"), ("--shape", "65x130", "130x65"),
                                    ("--codec", "sign", "fast"), ("--tile", "32x128", "64x64")):
            self.report("x.bsp", option, same)
            self.assert_fails(f"{option} says {other}", "x.bsp", option, other, name="x.bsp")

    def test_out_does_not_overwrite_its_input(self):
        self.make("x.bsp", 65, 130)
        before = (self.folder / "x.bsp").read_bytes()
        (self.folder / "symbolic").symlink_to("x.bsp")
        os.link(self.folder / "x.bsp", self.folder / "hard")
        for name in ("x.bsp", "./x.bsp", "symbolic", "hard"):
            self.assert_fails("--out would overwrite it", "x.bsp", "--out", name, name="x.bsp")
            self.assert_fails("--out would overwrite it", name, "--out", "x.bsp", name=name)
            self.assertEqual((self.folder / "x.bsp").read_bytes(), before)

    def names(self):
        return sorted(os.listdir(self.folder))

    def test_out_that_cannot_be_written(self):
        self.make("x.bsp", 65, 130)
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "pipe")
        (self.folder / "dangling").symlink_to("nothing")
        before = self.names()
        for name, reason in (("folder", "is a directory"), ("pipe", "is not a regular file"),
                             ("/dev/null", "is not a regular file"), ("dangling", "a symbolic link to nothing"),
                             ("no/such", "there is no folder no"), ("x.bsp/y", "cannot write: ")):
            self.assert_fails(reason, "x.bsp", "--out", name, name="--out " + name)
            self.assertEqual(self.names(), before)
        self.assert_fails("--dtype says fp16", "x.bsp", "--dtype", "fp16", "--out", "none", name="x.bsp")
        self.assertEqual(self.names(), before)

    @unittest.skipIf(os.geteuid() == 0, "root writes everything")
    def test_out_without_permission(self):
        self.make("x.bsp", 65, 130)
        self.write("kept", b"kept")
        (self.folder / "kept").chmod(0o444)
        self.assert_fails("Permission denied", "x.bsp", "--out", "kept", name="--out kept")
        self.assertEqual((self.folder / "kept").read_bytes(), b"kept")

    def test_out_replaces_a_file_and_keeps_its_permissions_and_links(self):
        dense = self.make("x.bsp", 65, 130)
        self.write("old", b"old")
        (self.folder / "old").chmod(0o640)
        (self.folder / "link").symlink_to("old")
        before = self.names()
        self.report("x.bsp", "--out", "link")
        self.assertEqual((self.folder / "old").read_bytes(), dense)
        self.assertEqual((self.folder / "old").stat().st_mode & 0o777, 0o640)
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual(self.names(), before)

    def test_a_failed_write_keeps_the_old_file_and_the_report(self):
        self.make("x.bsp", 65, 130)
        self.write("old", b"old")
        before = self.names()

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        for name in ("old", "new"):
            found, errors = self.reports("x.bsp", "--out", name, code=1, preexec_fn=limit)
            self.assertEqual([report["exact"] for report in found], [True])
            self.assertEqual(len(errors), 1)
            self.assertIn(f"--out {name}: cannot write: File too large", errors[0])
            self.assertEqual((self.folder / "old").read_bytes(), b"old")
            self.assertEqual(self.names(), before)
        text = self.run_tool("x.bsp", "--out", "old", preexec_fn=limit)
        self.assertIn("exact        yes", text.stdout.decode())

    def test_an_interrupted_write_leaves_the_old_file_or_the_new_one(self):
        rows, cols = 4096, 4096
        with open(self.folder / "zeros", "wb") as file:
            file.truncate(rows * cols)  # sparse: takes no room on disk
        self.report("zeros", "--dtype", "e4m3", "--shape", f"{rows}x{cols}", "--out", "x.bsp")
        self.write("old", b"old")
        before = self.names()
        start = time.monotonic()
        self.report("x.bsp", "--out", "old")
        seconds = time.monotonic() - start
        for i in range(24):  # the write is the end of it
            number = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[i % 3]
            self.write("old", b"old")
            tool = subprocess.Popen([TOOL, "x.bsp", "--out", "old", "--backend", "host"], cwd=self.folder,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                tool.wait(timeout=seconds * (0.4 + 0.025 * i))
            except subprocess.TimeoutExpired:
                tool.send_signal(number)
            self.assertIn(tool.wait(timeout=60), (0, -number))
            self.assertIn((self.folder / "old").stat().st_size, (3, rows * cols))
            self.assertEqual(self.names(), before)

    def assert_all_rejected(self, contents):
        """Each is rejected with one line, and a good file between them is still done."""
        names = [self.write(f"bad{i}", content) for i, content in enumerate(contents)]
        for first in range(0, len(names), 1000):
            part = names[first:first + 1000]
            found, errors = self.reports(*part, "good", code=1)
            self.assertEqual([report["file"] for report in found], ["good"])
            self.assertEqual([line.split(": ")[1] for line in errors], part)

    def test_every_truncation_and_every_flipped_bit(self):
        for codec in CODECS:
            self.make("good", 5, 70, "--codec", codec, content=files.sparse_values(5 * 70, 2, every=9))
            good = (self.folder / "good").read_bytes()
            self.assert_all_rejected([good[:size] for size in range(len(good))] + [good + b"\0", good + good])
            self.assert_all_rejected([good[:i] + bytes([good[i] ^ 1 << bit]) + good[i + 1:]
                                      for i in range(len(good)) for bit in range(8)])

    def test_corruption_behind_matching_checksums(self):
        for codec in CODECS:
            self.make("good", 5, 70, "--codec", codec, content=files.sparse_values(5 * 70, 2, every=9))
            good = (self.folder / "good").read_bytes()
            flipped = []
            for i in range(8, len(good)):
                for bit in range(8):
                    flipped.append(files.with_checksums(good[:i] + bytes([good[i] ^ 1 << bit]) + good[i + 1:]))
            # A flip that only changes a kept value, the element or the codec is another valid file:
            # it must be exact, and everything else rejected; never a crash.
            names = [self.write(f"bad{i}", content) for i, content in enumerate(flipped)]
            for first in range(0, len(names), 1000):
                part = names[first:first + 1000]
                done = self.run_tool(*part, "--json")
                found = [json.loads(line) for line in done.stdout.decode().splitlines()]
                self.assertIn(done.returncode, (0, 1))
                self.assertTrue(all(report["exact"] for report in found))
                self.assertEqual(len(found) + len(done.stderr.decode().splitlines()), len(part))


def main():
    global TOOL, DATA
    TOOL, DATA = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    rest = sys.argv[3:]
    if rest == ["--update"]:
        (DATA / "inspect_expected.jsonl").write_text("".join(slices_output(codec) for codec in CODECS))
        return
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
