# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket pipeline prefill: runs computed anew in nanoseconds, and plans against all sizes there are."""
import itertools
import json

from harness import ToolTest, main


def whole(x):
    return int(x + 0.5)


def duration(stage, before, tokens):
    """Nanoseconds of a piece; a stage is (fixed, per token before, per token, per pair)."""
    c, gamma, b, a = stage
    return whole(c + gamma * before) + whole((a * (before + tokens) + b) * (before + tokens)) - whole((a * before + b) * before)


def ends(stages, requests, sizes, hop=0, link=0.0, head=0):
    """When each request ends; requests are (tokens, arrival), sizes a list for each."""
    free, links, found = [0] * len(stages), [0] * len(stages), []
    for (tokens, arrival), pieces in zip(requests, sizes):
        before = 0
        for x in pieces:
            t = arrival
            for s, stage in enumerate(stages):
                last = s + 1 == len(stages)
                t = free[s] = max(t, free[s]) + duration(stage, before, x) + (head if last and before + x == tokens else 0)
                if not last:
                    links[s] = max(links[s], t) + whole(link * x)
                    t = links[s] + hop
            before += x
        found.append(t)
    return found


def all_sizes(tokens, align, least, greatest):
    """Every way to cut a request."""
    for x in range(1, tokens + 1):
        if x < min(least, tokens) or x > greatest or (x < tokens and x % align):
            continue
        if x == tokens:
            yield [x]
        else:
            for rest in all_sizes(tokens - x, align, min(least, tokens), greatest):
                if min(rest) >= min(least, tokens):
                    yield [x, *rest]


def cells(done):
    """The header and the rows of a CSV, as words."""
    return [line.split(",") for line in done.text.splitlines()]


def ns(word):
    return round(float(word) * 1000)


class Prefill(ToolTest):
    def sizes(self, done):
        header, *rows = cells(done)
        self.assertEqual(header, ["piece", "request", "before", "tokens", "start_us", "end_us"])
        return [[int(r[3]) for r in group] for _, group in itertools.groupby(rows, key=lambda r: r[1])]

    def test_small_prompts_have_the_best_sizes(self):
        for case, (tokens, arrivals, align, least, greatest, hop, link, head) in enumerate((
                ([13], [0], 1, 1, 99, 0, 0, 0), ([13], [0], 2, 3, 7, 4, 0.5, 9), ([7, 9], [0, 20], 2, 1, 99, 3, 0, 4),
                ([30], [5], 3, 1, 99, 1, 2, 0), ([5, 4, 6], [0, 0, 90], 2, 2, 6, 0, 1, 30))):
            for stages in ([(20, 0, 3, 0.25)] * 3, [(8, 1, 2, 0.5), (10, 1, 3, 0.5), (9, 0, 4, 0.25)], [(30, 0, 1, 0)]):
                with self.subTest(case=case, stages=stages):
                    lists = [",".join(repr(stage[i] / 1000) for stage in stages) for i in range(4)]
                    words = ("pipeline", "prefill", "--ranks", len(stages), "--tokens", ",".join(map(str, tokens)), "--arrivals",
                             ",".join(str(x / 1000) for x in arrivals), "--align", align, "--least", least, "--greatest", greatest,
                             "--fixed", lists[0], "--per-token-before", lists[1], "--per-token", lists[2], "--per-pair", lists[3],
                             "--hop", hop / 1000, "--hop-per-token", link / 1000, "--head", head / 1000)
                    requests = list(zip(tokens, arrivals))
                    every = [ends(stages, requests, sizes, hop, link, head)
                             for sizes in itertools.product(*(list(all_sizes(n, align, least, greatest)) for n in tokens))]
                    for goal in ("last", "mean"):
                        done = self.ok(*words, "--goal", goal)
                        found = ends(stages, requests, self.sizes(done), hop, link, head)
                        self.assertEqual(ns(done.summary["last_end_us"]), max(found))
                        self.assertEqual(done.summary["proved"], "yes")
                        value = max if goal == "last" else sum
                        self.assertEqual(value(found), min(map(value, every)))
                        self.assertLessEqual(ns(done.summary["lower_bound_us"]), min(map(max, every)))

    def test_a_long_prompt_and_the_rules(self):
        words = ("pipeline", "prefill", "--ranks", 8, "--tokens", 131072, "--align", 256, "--fixed", 20000, "--per-token", 30, "--per-pair", 0.0004)
        done = self.ok(*words)
        sizes = self.sizes(done)[0]
        stage = (20e6, 0, 30e3, 0.4)
        self.assertEqual(sum(sizes), 131072)
        self.assertFalse([x for x in sizes[:-1] if x % 256])
        # Alike stages: the work of one, and the longest piece on the others.
        times = [duration(stage, sum(sizes[:k]), x) for k, x in enumerate(sizes)]
        self.assertEqual(ns(done.summary["last_end_us"]), sum(times) + 7 * max(times))
        self.assertEqual(done.summary["proved"], "yes")
        for rule in ("equal_us", "equal_times_us", "smoothed_us"):
            self.assertLessEqual(float(done.summary["last_end_us"]), float(done.summary[rule]))
        header, *rows = cells(self.ok(*words, "--base", 5000, "--show", "rules"))
        self.assertEqual([r[0] for r in rows], ["equal", "equal_times", "smoothed", "searched"])
        equal = [4864] * 26 + [131072 - 26 * 4864]
        self.assertEqual(ns(rows[0][3]), ends([stage] * 8, [(131072, 0)], [equal])[0])

    def test_layers_memory_requests_and_picture(self):
        picture = self.folder / "run.svg"
        words = ("pipeline", "prefill", "--ranks", 2, "--tokens", "100,60", "--arrivals", "0,50", "--align", 10, "--fixed", 3, "--per-token", 1)
        header, *rows = cells(self.ok(*words, "--layers", 5, "--head", 40, "--show", "ranks", "--svg", picture))
        self.assertEqual(header[:2], ["rank", "layers"])
        self.assertEqual(sum(int(r[1]) for r in rows), 5)
        self.assertIn("<svg", picture.read_text())
        done = self.ok(*words, "--show", "requests")
        self.assertEqual([r[:2] for r in cells(done)[1:]], [["0", "100"], ["1", "60"]])
        self.assertEqual(ns(cells(done)[2][5]), ns(cells(done)[2][4]) - 50_000)
        header, *rows = cells(self.ok(*words, "--show", "ranks", "--cache-bytes", "7,5", "--activation-bytes", 2))
        self.assertTrue(160 * 7 >= int(rows[0][3]) >= 100 * 7)
        data = json.loads(self.ok(*words, "--json").text)
        self.assertEqual(sum(x["tokens"] for x in data["rows"]), 160)
        self.ok(*words, "--chunks", 2, "--placement", "v")

    def test_refused(self):
        one = ("pipeline", "prefill", "--ranks", 2, "--tokens", 100, "--per-token", 1)
        self.assertIn("a request of 100 tokens cannot be cut into pieces of 60 to 70 tokens", self.refused(*one, "--least", 60, "--greatest", 70).err)
        self.assertIn("--fixed has 3 numbers, but there are 2 stages", self.refused(*one, "--fixed", "1,2,3").err)
        self.assertIn("--arrivals has 2 numbers, but there are 1 requests", self.refused(*one, "--arrivals", "1,2").err)
        self.assertIn("the greatest piece is 5", self.refused(*one, "--least", 9, "--greatest", 5).err)
        self.assertIn("1 layers are fewer than the 2 stages", self.refused(*one, "--layers", 1).err)
        for wrong in (("--smooth", 2), ("--align", 0), ("--fixed", -1), ("--fixed", "nan"), ("--placement", "w"), ("--goal", "first")):
            self.misused(*one, *wrong)
        self.misused("pipeline", "prefill", "--ranks", 2)


if __name__ == "__main__":
    main()
