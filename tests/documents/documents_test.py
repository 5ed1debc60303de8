#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""The documents say what the repository holds: code that is compiled, commands that CI runs, figures that are recorded, texts that
the headers have, links that lead somewhere. Needs no GPU and no package.

usage: documents_test.py                 test
       documents_test.py --fill          put the code into the pages, between '<!-- code: FILE REGION -->' and the block's end
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md"), *(ROOT / "bench").rglob("*.md")])
CODE = re.compile(r"<!-- code: (\S+) (\S+) -->\n```(\w+)\n(.*?)```\n", re.S)
FENCE = re.compile(r"^```.*?^```", re.S | re.M)


def region(file, name):
    """The lines between `// [name]` and `// [/name]`, or the same with #, less their common indentation."""
    text = (ROOT / file).read_text()
    found = re.search(rf"^[ \t]*(?://|#) \[{name}\]\n(.*?)^[ \t]*(?://|#) \[/{name}\]\n", text, re.S | re.M)
    if found is None:
        raise KeyError(f"{file}: no region '{name}'")
    return textwrap.dedent(found.group(1))


def fill():
    for page in PAGES:
        text = page.read_text()
        filled = CODE.sub(lambda m: f"<!-- code: {m[1]} {m[2]} -->\n```{m[3]}\n{region(m[1], m[2])}```\n", text)
        if filled != text:
            page.write_text(filled)


def anchor(heading):
    """GitHub's name for a heading."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


class Code(unittest.TestCase):
    def test_code_in_documents_is_a_region_of_a_compiled_file(self):
        for page in PAGES:
            text = page.read_text()
            for file, name, language, code in CODE.findall(text):
                with self.subTest(page=page.name, file=file, region=name):
                    self.assertEqual(code, region(file, name), "documents_test.py --fill puts it right")
                    self.assertTrue(file.startswith("tests/"))

    def test_every_block_of_code_says_where_it_is_compiled(self):
        for page in PAGES:
            text = page.read_text()
            with self.subTest(page=page.name):
                blocks = re.findall(r"^```(?:cpp|cmake)\n", text, re.M)
                self.assertEqual(len(blocks), len(CODE.findall(text)))


class Commands(unittest.TestCase):
    readme = (ROOT / "README.md").read_text()
    ci = (ROOT / ".ci" / "run").read_text()

    def test_readme_and_ci_run_the_same_commands(self):
        for command in ("cmake --preset ci", "cmake --build --preset ci -j2", "ctest --preset ci -L host"):
            self.assertIn(command, self.readme)
            self.assertIn(command, self.ci)

    def test_readme_installs_what_ci_asks_for(self):
        packages = {line.strip() for line in re.findall(r"apt-get install -y ([^\n&\\]+)", self.readme)}
        asked = re.search(r"packages=\(([^)]*)\)", self.ci).group(1)
        self.assertIn(asked, packages)
        for line in packages:
            self.assertLessEqual(set(line.split()), set(asked.split()))


class Figures(unittest.TestCase):
    def run_script(self, *arguments):
        result = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_the_tables_are_those_of_the_recorded_results(self):
        results, report = ROOT / "docs" / "results" / "h200", ROOT / "bench" / "report"
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            shutil.copy(ROOT / "README.md", copy)
            (copy / "docs").mkdir()
            for page in (ROOT / "docs").glob("*.md"):
                # Emptied first: a table that no script makes any more is a difference, too.
                text = re.sub(r"(<!-- table \S+ -->\n).*?(<!-- end -->)", r"\1\2", page.read_text(), flags=re.S)
                (copy / "docs" / page.name).write_text(text)
            self.run_script(report / "report.py", results / "kernels.json", "--docs", copy / "docs")
            self.run_script(report / "training.py", results / "ffn.json", "--pytorch", results / "ffn_pytorch.json",
                            "--ops", results / "fused_ops.json", "--docs", copy / "docs")
            self.run_script(report / "offload.py", results / "offload.json", "--docs", copy / "docs")
            self.run_script(report / "recorded.py", copy, "--results", ROOT, "--fill")
            for made in [copy / "README.md", *(copy / "docs").glob("*.md")]:
                with self.subTest(page=made.name):
                    page = ROOT / made.relative_to(copy)
                    self.assertEqual(made.read_text(), page.read_text())

    def test_the_figures_in_sentences_are_those_of_the_recorded_results(self):
        for line in self.run_script(ROOT / "bench" / "report" / "recorded.py", ROOT, "--sentences").splitlines():
            page, words = line.split("\t")
            text = " ".join((ROOT / page).read_text().split())
            with self.subTest(page=page, words=words):
                self.assertIn(words, text)

    def test_files_that_are_named_as_sources_exist(self):
        for page in PAGES:
            for name in re.findall(r"`(?:docs/)?(results/[\w/]+\.\w+)`", page.read_text()):
                with self.subTest(page=page.name, file=name):
                    self.assertTrue((ROOT / "docs" / name).exists())

    def test_every_recorded_file_is_explained(self):
        explained = (ROOT / "docs" / "results" / "README.md").read_text()
        for file in (ROOT / "docs" / "results").rglob("*.*"):
            if file.name != "README.md":
                name = file.relative_to(ROOT / "docs" / "results").as_posix()
                with self.subTest(file=name):
                    self.assertIn(f"`{name}`", explained)


class Links(unittest.TestCase):
    def test_relative_links_lead_to_files_and_headings(self):
        for page in PAGES:
            text = FENCE.sub("", page.read_text())
            for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, heading = target.partition("#")
                file = (page.parent / path).resolve() if path else page
                with self.subTest(page=page.relative_to(ROOT).as_posix(), link=target):
                    self.assertTrue(file.exists())
                    if heading:
                        headings = re.findall(r"^#+ (.*)$", FENCE.sub("", file.read_text()), re.M)
                        self.assertIn(heading, [anchor(one) for one in headings])


class Errors(unittest.TestCase):
    def test_the_texts_of_errors_md_are_those_of_the_headers(self):
        headers = "\n".join(file.read_text() for file in sorted((ROOT / "include").rglob("*.[hc]*")))
        headers = re.sub(r'"\s*\n\s*"', "", headers)  # adjacent literals are one
        page = (ROOT / "docs" / "errors.md").read_text()
        for row in re.findall(r"^\| (`.*?) \|", page, re.M):
            for text in re.findall(r"`([^`]+)`", row):
                with self.subTest(text=text):
                    if text != "make_matrix" and text != "status":
                        self.assertIn(text, headers)


if __name__ == "__main__":
    if "--fill" in sys.argv:
        fill()
    else:
        unittest.main()
