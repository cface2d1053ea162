"""The queue of experiments (bench/experiments/README.md), and what rooftile-bench kernels answered of it."""
from taking.tables import table, us

QUEUE = "experiment,m,n,k,trans_a,trans_b,batch,type,baseline,variant,expected,seconds,hypothesis".split(",")
INHERITED = ["type", "baseline", "expected", "seconds", "hypothesis"]
ANSWERS = {"as expected", "not so", "faster", "slower", "equal"}


def read_queue(file):
    """Lines before the first question, and questions with every cell filled, each with the comments before it."""
    head, rows, before, comments = [], [], {}, []
    for line in file.read_text().splitlines():
        if not line or line.startswith("#") or line == ",".join(QUEUE):
            comments.append(line)
            continue
        row = dict(zip(QUEUE, line.split(",", len(QUEUE) - 1)), comments=comments)
        if not rows:
            head, row["comments"] = comments, []
        for column in ("experiment", *INHERITED):
            row[column] = row.get(column) or before.get(column, "")
        rows.append(row)
        before, comments = row, []
    return head, rows


def queue_text(head, rows):
    lines, before = list(head), {}
    for row in rows:
        same = row["experiment"] == before.get("experiment")
        lines += row["comments"] + [",".join("" if same and column in ("experiment", *INHERITED) and row[column] == before[column] else
                                             row[column] for column in QUEUE)]
        before = row
    return "\n".join(lines) + "\n"


def settings(kernel):
    return dict(word.split("=", 1) for word in kernel.split())


def is_answer(answer, question):
    wanted = [f"{question['m']}x{question['n']}x{question['k']}", "nt"[int(question["trans_a"])] + "nt"[int(question["trans_b"])]]
    wanted += [question["type"]] if question["type"] != "f32" else []
    wanted += ["batch", question["batch"]] if question["batch"] != "1" else []
    baseline = settings(question["baseline"])
    variant = {**baseline, **settings(question["variant"])}
    return (answer["experiment"] == question["experiment"] and answer["problem"].split() == wanted
            and baseline.items() <= settings(answer["baseline"]).items() and variant.items() <= settings(answer["variant"]).items())


def changed(answer):
    return " ".join(word for word in answer["variant"].split() if word not in answer["baseline"].split())


def measured(answer):
    return f"{answer['ratio']} ({answer['ratio_low']} to {answer['ratio_high']})"


def left_of_queue(answers, folder):
    """The files of the queue from which questions go, without them (None: nothing is left), and hypotheses by experiment."""
    queue, why = {}, {}
    for file in sorted((folder / "bench/experiments").glob("*.csv")):
        head, questions = read_queue(file)
        left = [question for question in questions if not any(
            answer["verdict"] in ANSWERS and is_answer(answer, question) for answer in answers)]
        why.update((question["experiment"], question["hypothesis"]) for question in reversed(questions))
        if len(left) < len(questions):
            queue[file] = queue_text(head, left) if left else None
    return queue, why


def note_of(answers, why, name, results):
    lines = []
    for answer in answers:
        line = [answer["experiment"], answer["problem"], changed(answer), answer["expected"]]
        if answer["failure"]:
            lines.append([*line, "", "", answer["failure"].replace("|", "/")])
            continue
        facts = " -> ".join(", ".join(filter(None, (answer.get(f"{side}_facts"), answer.get(f"{side}_sass"))))
                            for side in ("baseline", "variant")).strip(" ->")
        lines.append([*line, measured(answer), f"{us(answer['baseline_ns'])} -> {us(answer['variant_ns'])}",
                      answer["verdict"] + (f"; {facts}" if facts else "")])
    return f"""# {results.date}: answers of {results.device['name']}

What `rooftile-bench kernels` answered of the queue (`bench/experiments`), commit {results.commit}, driver {results.device['driver']}: time of the
variant over that of the baseline with its 95 % interval, and us. "as expected" and "not so": beyond half of the expected gain, on its side or on
the other. What is open, or failed, is still in the queue. [Results](../results/{name}.md).

""" + table(["experiment", "problem", "change", "expected", "measured", "us", "verdict"], lines) + "\n" + "".join(
        f"- {experiment}: {why[experiment]}\n" for experiment in dict.fromkeys(answer["experiment"] for answer in answers) if experiment in why)
