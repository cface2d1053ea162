"""Completion: what the program suggests, and that bash, zsh and fish offer it."""
import os
import re
import subprocess

import numpy as np
import pytest
from conftest import PROGRAM, SOURCE
from gguf_file import write

SCRIPTS = SOURCE / "cli/completion"


def suggestions(rooftile, *words):
    """The suggested words, and what else may stand there."""
    lines = rooftile.run("complete", *words).stdout.splitlines()
    return [line.split("\t")[0] for line in lines[:-1]], lines[-1]


@pytest.mark.parametrize("words, expected, also", [
    ([""], {"tune", "db", "gemm"}, ":none"),
    (["tu"], {"tune"}, ":none"),
    (["db", "ex"], {"export", "export-space"}, ":none"),
    (["--db", "x.db", "db", "mer"], {"merge"}, ":none"),
    (["tune", "--str"], {"--strategy"}, ":none"),
    (["tune", "--strategy", "r"], {"random"}, ":none"),
    (["tune", "--strategy=r"], {"--strategy=random"}, ":none"),
    (["tune", "--set", ""], {"default", "squares", "llm"}, ":none"),
    (["tune", "--m", ""], set(), ":none"),
    (["tune", "--shapes", ""], set(), ":files"),
    (["emit", "--family", "b"], {"broadcast", "batched_small"}, ":none"),
    (["emit", "--tile_m", ""], set(), ":none"),
    (["emit", "--type", "f16xq4"], {"f16xq4_0", "f16xq4b32_f16", "f16xq4_k_f16"}, ":none"),
    (["emit", "--epilogue", "bias_column+re"], {"bias_column+relu", "bias_column+residual"}, ":none"),
    (["emit", "--epilogue", "relu+s"], set(), ":none"),
    (["gemm", "a.npy", ""], set(), ":files"),
    (["gemm", "a.npy", "b.npy", "--tier", "host"], {"host", "host1", "host64"}, ":none"),
    (["gemm", "--", "--tie"], set(), ":files"),
    (["web", "-o", ""], set(), ":folders"),
    (["run", "--tier", "host", "--", "pyt"], set(), ":program 4"),
    (["run", "python3", "--tier", ""], set(), ":program 1"),
    (["db", "import", "one.db", ""], set(), ":files"),
    (["--db", "x.db", "help", "tu"], {"tune"}, ":none"),
    (["help", "db", "im"], {"import"}, ":none"),
    (["help", "tune", ""], set(), ":none"),
    (["help", "no-such-command", ""], set(), ":none"),
    (["frobnicate", "x", ""], None, None),
    (["tune", "--no-such-option", ""], None, None),
])
def test_suggestions(rooftile, words, expected, also):
    found, directive = suggestions(rooftile, *words)
    if expected is None:
        return  # Anything, but no failure: the words are not complete.
    assert directive == also
    assert expected <= set(found)
    assert all(word.startswith(words[-1]) for word in found)
    if not expected:
        assert found == []


def test_every_option_of_every_command_is_suggested(rooftile):
    for command in (["tune"], ["db", "export"], ["emit"]):
        found, _ = suggestions(rooftile, *command, "--")
        text = rooftile.run(*command, "--help").stdout
        named = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE))
        assert len(named) > 8
        assert named <= set(found)
        assert {"--db", "--device"} <= set(found), "global options"


def test_options_that_were_given_or_are_ruled_out_are_not_suggested(rooftile):
    found, _ = suggestions(rooftile, "tune", "--quick", "--")
    assert "--quick" not in found and "--thorough" not in found and "--budget" not in found and "--set" in found


def test_internal_commands_are_not_suggested(rooftile):
    assert not {"worker", "manual", "complete"} & set(suggestions(rooftile, "")[0])


@pytest.fixture
def model(rooftile):
    write(rooftile.folder / "model.gguf", [("blk.0.ffn up", (3, 4), 0, np.ones((3, 4), "f4").tobytes()),
                                          ("blk.1.q", (2, 5), 0, np.ones((2, 5), "f4").tobytes())])
    return rooftile


def test_tensors_of_a_gguf_file(model):
    assert suggestions(model, "gguf", "model.gguf", "--tensor", "blk.1")[0] == ["blk.1.q"]
    assert suggestions(model, "gemm", "a.npy", "model.gguf:blk.1")[0] == ["model.gguf:blk.1.q"]
    assert suggestions(model, "gemm", "a.npy", "missing.gguf:blk")[0] == []


def in_bash(rooftile, words, with_library):
    """What bash would offer: COMPREPLY after the function of the script has run."""
    source = "source /usr/share/bash-completion/bash_completion" if with_library else "true"
    line = " ".join(["rooftile", *words])
    script = f"""{source}; source {SCRIPTS}/rooftile.bash
      COMP_LINE={line!r} COMP_POINT={len(line)}
      # As readline splits the line: word breaks are words of their own.
      COMP_WORDS=($(printf '%s' "$COMP_LINE" | sed 's/[:=]/ & /g')); [ "${{COMP_LINE: -1}}" != " " ] || COMP_WORDS+=("")
      COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
      compopt() {{ :; }}
      _rooftile; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return run_shell(rooftile, ["bash", "--norc", "-c", script])


def run_shell(rooftile, command, **more):
    folder = rooftile.folder / "bin"
    if not folder.exists():
        folder.mkdir()
        (folder / "rooftile").symlink_to(PROGRAM)
    environment = dict(rooftile.environment, PATH=f"{folder}:{os.environ['PATH']}", **more)
    run = subprocess.run(command, cwd=rooftile.folder, env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout.split("\n")[:-1]


@pytest.mark.parametrize("with_library", [True, False], ids=["bash-completion", "bash alone"])
def test_bash(model, with_library):
    (model.folder / "some file.npy").touch()
    assert in_bash(model, ["tu"], with_library) == ["tune"]
    assert in_bash(model, ["tune", "--strategy", "rand"], with_library) == ["random"]
    assert "some file.npy" in in_bash(model, ["gemm", "some"], with_library)
    assert in_bash(model, ["db", "imp"], with_library) == ["import"]
    if with_library:
        # bash replaces what follows the last word break only.
        assert in_bash(model, ["tune", "--strategy=rand"], True) == ["random"]
        assert in_bash(model, ["gemm", "a.npy", "model.gguf:blk.1"], True) == ["blk.1.q"]
    assert "python3" in in_bash(model, ["run", "python"], with_library)


def in_zsh(rooftile, line):
    """What zsh would offer: its own completion, in a terminal of its own, with the list that it shows."""
    (rooftile.folder / ".zshrc").write_text(f"""
fpath=({SCRIPTS} $fpath); PROMPT='' RPROMPT=''
autoload -Uz compinit; compinit -u -d {rooftile.folder}/dump
zstyle ':completion:*' verbose no
compadd() {{
  local -a __offered  # no name that the script uses
  builtin compadd -O __offered "$@"
  print -rl -- "OFFERED "$^__offered >> {rooftile.folder}/offered
  builtin compadd "$@"
}}
bindkey '^I' complete-word
""")
    (rooftile.folder / "offered").unlink(missing_ok=True)
    driver = f"""
zmodload zsh/zpty
zpty -b z zsh -i
zpty -w z $'{line}\\t'
local out; integer tries=0
while [[ ! -s {rooftile.folder}/offered ]] && (( tries++ < 600 )); do zpty -r -t z out; zselect -t 5 2>/dev/null || true; done
zselect -t 30 2>/dev/null || true
zpty -d z
"""
    run_shell(rooftile, ["zsh", "-f", "-c", "zmodload zsh/zselect\n" + driver], ZDOTDIR=str(rooftile.folder), TERM="xterm")
    lines = (rooftile.folder / "offered").read_text().splitlines()
    return {line.removeprefix("OFFERED ").strip() for line in lines if line.startswith("OFFERED ")}


def test_zsh(model):
    assert "tune" in in_zsh(model, "rooftile tu")
    assert "random" in in_zsh(model, "rooftile tune --strategy rand")
    assert "model.gguf" in in_zsh(model, "rooftile gemm mod")
    assert "blk.0.ffn up" in in_zsh(model, "rooftile gguf model.gguf --tensor blk.0")


def in_fish(rooftile, line):
    offered = run_shell(rooftile, ["fish", "--no-config", "-c", f"source {SCRIPTS}/rooftile.fish; complete -C {line!r}"],
                        XDG_CONFIG_HOME=str(rooftile.folder), XDG_DATA_HOME=str(rooftile.folder))
    return {word.split("\t")[0] for word in offered}


def test_fish(model):
    assert in_fish(model, "rooftile tu") == {"tune"}
    assert in_fish(model, "rooftile tune --strategy rand") == {"random"}
    assert in_fish(model, "rooftile tune --strategy=rand") == {"--strategy=random"}
    assert "model.gguf" in in_fish(model, "rooftile gemm mod")
    assert "blk.0.ffn up" in {word.replace("\\ ", " ") for word in in_fish(model, "rooftile gguf model.gguf --tensor blk.0")}
    assert "python3" in in_fish(model, "rooftile run python")
    assert {"export", "export-space"} == in_fish(model, "rooftile db exp")


def test_manual(rooftile):
    folder = rooftile.folder / "man"
    rooftile.run("manual", folder)
    pages = sorted(page.name for page in folder.iterdir())
    assert {"rooftile.1", "rooftile-tune.1", "rooftile-db.1", "rooftile-db-black-list.1"} <= set(pages)
    assert not [page for page in pages if "worker" in page or "manual" in page]
    for page in pages:
        linted = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", folder / page], capture_output=True, text=True)
        assert linted.stdout == "" and linted.returncode == 0, linted.stdout
        shown = subprocess.run(["man", "--warnings", "-l", folder / page], capture_output=True, text=True,
                               env=dict(os.environ, MANWIDTH="80", LC_ALL="C.UTF-8", MANPAGER="cat"))
        assert shown.returncode == 0 and shown.stderr == "", shown.stderr
    text = " ".join(shown_page(folder / "rooftile-tune.1").split())
    for part in ("rooftile-tune - Calibrate and tune", "--strategy NAME", "rooftile tune --from-log --quick", "SEE ALSO rooftile(1)"):
        assert part in text, part
    text = " ".join(shown_page(folder / "rooftile.1").split())
    for part in ("ROOFTILE_PRECISION", "EXIT STATUS", "130", "rooftile-db(1)", "not found"):
        assert part in text, part
    assert "](" not in text, "marks of Markdown"
    assert "(docs/precision.md)" in text and "(docs/explain.md)" in text and "(how)" not in text


def shown_page(page):
    return subprocess.run(["man", "-l", page], capture_output=True, text=True, check=True,
                          env=dict(os.environ, MANWIDTH="80", LC_ALL="C.UTF-8", MANPAGER="cat", GROFF_NO_SGR="1")).stdout.replace(
                              "\N{HYPHEN}", "-").replace("\N{MINUS SIGN}", "-")
