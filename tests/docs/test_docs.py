#!/usr/bin/env python3
"""Checks the documentation: links, and the files, folders and pages that it and the sources name,
exist; each page in docs/ is short and in the index, and all together are; each folder of the table of layers has a
README.md; the picture of README.md shows the stored figures; the tests that tests/README.md names are tests of the build.

    test_docs.py SOURCE_DIR [BINARY_DIR]    # BINARY_DIR: of a build that has all tests
    test_docs.py --installed FOLDER    # only the links, of pages that lie outside of the source tree
"""
import fnmatch
import json
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[2] if sys.argv[1] == "--installed" else sys.argv[1])
ARCHITECTURE = SOURCE / "docs" / "architecture.md"
MOST_WORDS, MOST_WORDS_OF_ALL, MOST_PAGES = 1100, 28000, 32
PAGES = sorted(p for p in SOURCE.rglob("*.md") if not re.match(r"build|\.", p.relative_to(SOURCE).parts[0]))
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# A row of the table of layers, which tests/architecture reads too. Its words are not counted.
LAYER = re.compile(r"^\| `([\w/]+)/` \|.*\|$", re.MULTILINE)
FOLDER = re.compile(r"(?:\.\./)*[\w-]+(?:/[\w-]+)*/")
FILE = re.compile(r"[\w./-]+\.(?:h|hpp|cpp|c|S|glsl|comp|md|py|sh|csv|sql|json|js|txt|cmake)")


def prose(page):
    return BLOCK.sub("", page.read_text())


def anchors(page):
    """Returns the anchors that GitHub derives from headings."""
    headings = re.findall(r"^#+ +(.*)$", prose(page), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def broken_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists():
            yield f"links to {target}, which does not exist"
        elif anchor and anchor not in anchors(file):
            yield f"links to {target}, which has no such heading"


def missing_files(page, names, folders):
    """Yields an error for paths in inline code that exist neither below the root nor below the page's folder."""
    for code in re.findall(r"`([^`\n]+)`", prose(page)):
        is_folder = FOLDER.fullmatch(code)
        if not (is_folder or FILE.fullmatch(code)) or re.match(r"/|build|share/|lib/|bin/|NAME", code):
            continue
        path = pathlib.PurePath(code)
        if "NAME" in path.name:  # NAME is a placeholder for a file of this folder
            path, is_folder = path.parent, True
        starts = (SOURCE, SOURCE / "include", page.parent) if "/" in code else ()
        known = folders if is_folder else names
        if not any((start / path).exists() for start in starts) and str(path) not in known:
            yield f"names {code}, which does not exist"


def words(page):
    text = LAYER.sub("", prose(page)) if page == ARCHITECTURE else prose(page)
    return len(re.findall(r"\S*\w\S*", text))


def missing_tests():
    """Yields an error for each name in the last table of tests/README.md that is neither a test of ctest nor a case of one, and for
    each name that two tests have."""
    listed = subprocess.run(["ctest", "--test-dir", sys.argv[2], "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    tests = json.loads(listed)["tests"]
    known = {test["name"] for test in tests}
    for name in known:
        if sum(test["name"] == name for test in tests) > 1:  # They would share their labels, and -R would find both.
            yield f"two tests have the name {name}"
    if any(name.endswith("_NOT_BUILT") for name in known):  # With the label unit alone, the other programs are not there to be asked.
        return
    for program in {test["command"][0] for test in tests if test["command"][1:] == [f"--gtest_filter={test['name']}.*"]}:
        suite = ""
        for line in subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout.splitlines():
            name = line.split("#")[0].strip()
            if line.startswith(" "):
                known.add(suite + name)
            else:
                suite = name
    rows = re.findall(r"^\|.*\| (.*) \|$", (SOURCE / "tests" / "README.md").read_text().split("| README | check |")[1], re.MULTILINE)
    for name in re.findall(r"`([\w/-]+\.[\w*]+)`", "\n".join(rows)):
        if not FILE.fullmatch(name) and not any(fnmatch.fnmatch(test, name) for test in known):
            yield f"tests/README.md names the test {name}, which does not exist"


def main():
    tracked = subprocess.run(["git", "-C", SOURCE, "ls-files"], capture_output=True, text=True).stdout.split()
    files = tracked or [str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*")]
    names = {pathlib.Path(file).name for file in files}
    folders = {folder.name for file in files for folder in pathlib.Path(file).parents}
    wrong = []
    for page in PAGES:
        name = page.relative_to(SOURCE)
        wrong += [f"{name} {what}" for what in [*broken_links(page), *missing_files(page, names, folders)]]
        if name.parts[0] == "docs" and words(page) > MOST_WORDS:
            wrong.append(f"{name} has {words(page)} words, more than {MOST_WORDS}: split it by questions")
    for file in files:
        if not file.endswith(".md"):
            text = (SOURCE / file).read_text(errors="replace") if (SOURCE / file).is_file() else ""
            wrong += [f"{file} names {page}, which does not exist" for page in set(re.findall(r"(?<![\w/.-])(?:docs|bench)/[\w/-]+\.md", text))
                      if not (SOURCE / page).exists()]
    index = (SOURCE / "docs" / "README.md").read_text()
    wrong += [f"docs/README.md does not list {page.name}" for page in (SOURCE / "docs").glob("*.md")
              if page.name != "README.md" and f"]({page.name})" not in index]
    layers = LAYER.findall(ARCHITECTURE.read_text())
    # The public headers need no README.md, because they document themselves.
    wrong += [f"{layer} has no README.md that says where to enter" for layer in layers
              if layer != "include/rooftile" and not (SOURCE / layer / "README.md").exists()]
    if "runtime/device" not in layers:
        wrong.append("docs/architecture.md has no row of runtime/device: the table of layers is not read as it is meant")
    wrong += missing_tests() if len(sys.argv) > 2 else []
    pages = list((SOURCE / "docs").glob("*.md"))
    total = sum(words(page) for page in pages)
    if total > MOST_WORDS_OF_ALL or len(pages) > MOST_PAGES:
        wrong.append(f"docs/ has {len(pages)} pages with {total} words, more than {MOST_PAGES} with {MOST_WORDS_OF_ALL}")
    readme = (SOURCE / "README.md").read_text().count("\n")
    if readme > 110:
        wrong.append(f"README.md has {readme} lines, more than 110")
    drawn = subprocess.run([sys.executable, SOURCE / "bench" / "picture.py"], capture_output=True, text=True, check=True).stdout
    if drawn != (SOURCE / "docs" / "nvidia-h200.svg").read_text():
        wrong.append("docs/nvidia-h200.svg is not what bench/picture.py draws from the stored tables")
    print(f"{len(PAGES)} pages")
    sys.exit("\n".join(wrong) or 0)


def check_installed():
    wrong = [f"{page} {what}" for page in PAGES for what in broken_links(page)]
    print(f"{len(PAGES)} installed pages")
    sys.exit("\n".join(wrong) or 0 if PAGES else f"no page is installed in {SOURCE}")


check_installed() if sys.argv[1] == "--installed" else main()
