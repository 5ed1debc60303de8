#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""offload_ratios.py and feature_maps.py, without their images. Skipped (exit status 77) without numpy.

usage: offload_ratios_test.py [bitsparse_inspect]
"""
import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("offload_ratios_test: skipped, numpy is not installed")
    sys.exit(77)

import feature_maps
import offload_ratios as ratios

INSPECT = sys.argv[1] if len(sys.argv) > 1 else None


def sparse_words(count, density, dtype=np.uint16, seed=1):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(count) < density, rng.integers(1, 256, count), 0).astype(dtype)


def rle_size(words):
    """One word after the other."""
    size, run = 0, 0
    for before, word in zip([None, *words[:-1]], words):
        run = 1 if before is None or bool(before) != bool(word) or run == 128 else run + 1
        size += (run == 1) + (words.itemsize if word else 0)
    return size


class Methods(unittest.TestCase):
    def test_zvc_takes_a_mask_per_32_words_and_the_words_that_are_not_zero(self):
        for dtype in (np.uint32, np.uint16, np.uint8):
            for count in (1, 31, 32, 33, 4096, 5000):
                words = sparse_words(count, .3, dtype)
                expected = 4 * -(-count // 32) + int((words != 0).sum()) * words.itemsize
                with self.subTest(dtype=dtype, count=count):
                    self.assertEqual(ratios.stored_bytes("zvc", words), expected)

    def test_run_lengths_by_hand(self):
        words = np.array([0] * 130 + [5] * 3 + [0], np.uint16)  # 128 zeros, 2 zeros, 3 words, 1 zero
        self.assertEqual(ratios.rle(words)[0].tolist(), [127, 1, 0x80 + 2, 0])
        self.assertEqual(ratios.stored_bytes("rle", words), 4 + 3 * 2)

    def test_run_lengths_are_those_of_a_plain_loop(self):
        for density in (0, .01, .1, .5, .9, .99, 1):
            words = sparse_words(5000, density, np.uint32)
            with self.subTest(density=density):
                self.assertEqual(ratios.stored_bytes("rle", words), rle_size(words))

    def test_every_method_gives_the_words_back(self):
        for method in ratios.METHODS:
            for words in (np.zeros(0, "u2"), np.zeros(300, "u4"), sparse_words(9000, .2), np.full(129, 7, "u1")):
                with self.subTest(method=method, count=words.size):
                    self.assertGreaterEqual(ratios.stored_bytes(method, words), 0)

    def test_deflate_by_blocks(self):
        words = sparse_words(9000, .2)
        self.assertEqual(len(ratios.deflate(words, 4096)), 5)
        self.assertGreater(ratios.stored_bytes("zlib_4k", words), ratios.stored_bytes("zlib", words))

    def test_words_that_do_not_come_back_are_an_error(self):
        ratios.METHODS["broken"] = (ratios.zvc, lambda streams, like: like + 1)
        self.addCleanup(ratios.METHODS.pop, "broken")
        with self.assertRaises(RuntimeError):
            ratios.stored_bytes("broken", sparse_words(64, .5))

    @unittest.skipUnless(INSPECT, "no bitsparse_inspect given")
    def test_bitsparse_counts_chunks_and_descriptors(self):
        tile = 32 * 128
        zeros = ratios.bitsparse_bytes(INSPECT, "bf16", np.zeros(3 * tile, np.uint16), 128)
        self.assertEqual(zeros, dict.fromkeys(ratios.CODECS, 3 * 8))
        words = sparse_words(3 * tile - 1, .5)  # the last row is filled up
        kept = [int((words[i:i + tile] != 0).sum()) for i in range(0, words.size, tile)]
        self.assertEqual(ratios.bitsparse_bytes(INSPECT, "bf16", words, 128)["fast"],
                         sum(8 + 512 + 16 * -(-k // 8) for k in kept))


class Elements(unittest.TestCase):
    def test_bf16_rounds_to_nearest_even(self):
        values = np.array([0, 0x3f800000, 0x3f808000, 0x3f808001, 0x3f818000], np.uint32).view(np.float32)
        self.assertEqual(ratios.to_bf16(values).tolist(), [0, 0x3f80, 0x3f80, 0x3f81, 0x3f82])

    def test_e4m3_rounds_to_nearest_even(self):
        table = [m / 8 * 2 ** -6 if e == 0 else (1 + m / 8) * 2.0 ** (e - 7) for e in range(16) for m in range(8)][:127]
        self.assertEqual(table[-1], 448)
        middles = [(a + b) / 2 for a, b in zip(table, table[1:])]
        values = np.array(table + middles + [448], np.float32)  # 448: no scaling
        expected = list(range(127)) + [i + i % 2 for i in range(126)] + [126]
        self.assertEqual(ratios.to_e4m3(values).tolist(), expected)

    def test_e4m3_scales_the_largest_value_to_448(self):
        self.assertEqual(ratios.to_e4m3(np.array([0, 1e-6, .5, 1], np.float32)).tolist(), [0, 0, 0x76, 0x7e])
        self.assertEqual(ratios.to_e4m3(np.zeros(3, np.float32)).tolist(), [0, 0, 0])


class Synthetic(unittest.TestCase):
    SHAPE = (2, 8, 28, 28)

    def test_masks_have_the_exact_density(self):
        for make in (feature_maps.uniform_mask, feature_maps.clustered_mask):
            for density in (0, .1, .15, .5, .8, 1):
                mask = make(self.SHAPE, density, np.random.default_rng(1))
                with self.subTest(make=make.__name__, density=density):
                    self.assertEqual((mask.shape, int(mask.sum())), (self.SHAPE, round(density * mask.size)))

    def test_clustered_zeros_have_longer_runs(self):
        def mean_run(make):
            kinds, lengths = ratios.runs(make(self.SHAPE, .3, np.random.default_rng(1)).ravel())
            return lengths[~kinds].mean()
        self.assertGreater(mean_run(feature_maps.clustered_mask), 1.5 * mean_run(feature_maps.uniform_mask))

    def test_layers_keep_what_the_mask_keeps(self):
        layers = [("a", (4, 6, 6), .25)]
        (name, maps), = feature_maps.synthetic(layers, 2, feature_maps.uniform_mask, np.random.default_rng(1))
        self.assertEqual((name, maps.shape, maps.dtype, int((maps > 0).sum())), ("a", (2, 4, 6, 6), np.float32, 72))


class Training(unittest.TestCase):
    def test_gradients_are_those_of_small_differences(self):
        rng = np.random.default_rng(1)
        network = feature_maps.Network((2, 8, 8), 3, rng)
        network.parameters = [p.astype(np.float64) for p in network.parameters]
        x, labels = rng.standard_normal((4, 2, 8, 8)), np.array([0, 1, 2, 1])
        for p, gradient in zip(network.parameters, network.gradients(x, labels)[1]):
            for at in zip(*(rng.integers(size, size=3) for size in p.shape)):
                found, step = [], 1e-6
                for sign in (1, -1):
                    p[at] += sign * step
                    found.append(network.gradients(x, labels)[0])
                    p[at] -= sign * step
                self.assertAlmostEqual(gradient[at], (found[0] - found[1]) / (2 * step), delta=1e-6)

    def test_it_learns_and_its_maps_are_relus(self):
        rng = np.random.default_rng(1)
        network = feature_maps.Network((1, 8, 8), 2, rng)
        labels = rng.integers(2, size=32)
        x = rng.standard_normal((32, 1, 8, 8), np.float32) + labels[:, None, None, None].astype(np.float32)
        losses = [network.step(x, labels, 1e-3) for _ in range(12)]
        self.assertLess(losses[-1], losses[0] / 2)
        maps = dict(network.feature_maps(x))
        self.assertEqual({name: found.shape[1:] for name, found in maps.items()},
                         {"relu1": (16, 8, 8), "relu2": (32, 8, 8), "pool2": (32, 4, 4), "relu3": (64, 4, 4),
                          "pool3": (64, 2, 2), "relu4": (64, 2, 2)})
        self.assertTrue(all(found.min() >= 0 and found.dtype == np.float32 for found in maps.values()))


class Summary(unittest.TestCase):
    def test_ratios_of_all_bytes_and_the_mean_of_the_layers(self):
        methods = (*ratios.METHODS, *ratios.CODECS)
        layers = [{"set": "s", "element": "bf16", "density": density, "dense": dense, **dict.fromkeys(methods, stored)}
                  for density, dense, stored in ((.5, 300, 150), (.1, 100, 10))]
        row, = ratios.summarise(layers)
        self.assertEqual((row["layers"], row["dense"], row["density"]), (2, 400, .4))
        self.assertEqual((row["ratio"]["zvc"], row["mean_ratio"]["compact"]), (2.5, 6))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
