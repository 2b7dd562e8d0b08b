from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

Captured = pytest.CaptureFixture[str]
MODELS = ("alpha", "beta", "gamma")
HINT = "--out DIR writes all tables"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Scores and ratings of six prompts by three models; scores follow the ratings, with noise."""
    rng = np.random.default_rng(3)
    scores, ratings = (
        ["clip,mss,ssim"],
        ["clip,source,temporal_quality_1,temporal_quality_2,static_quality_1,static_quality_2"],
    )
    for prompt in range(6):
        for place, model in enumerate(MODELS):
            quality = place + rng.normal()
            said = [int(np.clip(round(2 + quality + rng.normal(0, 0.5)), 1, 5)) for _ in range(4)]
            ratings.append(f"{prompt}_{model}.gif,{model},{','.join(map(str, said))}")
            scores.append(f"{prompt}_{model}.mp4,{quality:.4f},{rng.normal():.4f}")
    (tmp_path / "scores.csv").write_text("\n".join([*scores, "9_alpha.mp4,1,1"]) + "\n")
    (tmp_path / "ratings.csv").write_text("\n".join(ratings) + "\n")
    return tmp_path / "scores.csv", tmp_path / "ratings.csv"


def rows(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text().splitlines()[1:]]


def test_a_form_in_words(vmmetrics: Any, files: tuple[Path, Path], tmp_path: Path, capsys: Captured) -> None:
    heads = [f"How smooth? [{prompt}_{model}.mp4]" for prompt in range(6) for model in MODELS]
    said = ["Bad", "Poor", "Fair", "Good", "Excellent", "Fair"] * 3
    form = tmp_path / "responses.csv"
    form.write_text("\n".join(",".join(row) for row in (["Timestamp", *heads], ["1", *said], ["2", *said])) + "\n")
    assert vmmetrics("align", files[0], form, "--resamples", 20) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "18 clips with a score and a judgement" in shown
    assert "How smooth: words read as bad 1, poor 2, fair 3, good 4, excellent 5" in shown


def test_from_tables_to_a_folder(vmmetrics: Any, files: tuple[Path, Path], tmp_path: Path, capsys: Captured) -> None:
    scores, ratings = files
    assert vmmetrics("align", scores, ratings, "--out", "study", "--resamples", 50, "--reference", "ssim") == 0
    shown = capsys.readouterr()
    assert "compared with: mss, ssim → temporal_quality" in shown.out
    assert "1 clips with a score and no judgement: 9_alpha.mp4" in shown.out
    assert "page.html" in shown.err
    assert HINT not in shown.out + shown.err
    out = tmp_path / "study"
    names = {file.name for file in out.iterdir()}
    assert {"report.json", "matching.json", "table.csv", "report.md", "table.tex", "page.html"} <= names
    assert {file.suffix for file in out.iterdir()} == {".json", ".csv", ".md", ".tex", ".html", ".png", ".svg"}
    assert {n.removesuffix(".png") for n in names if n.endswith(".png")} == {
        n.removesuffix(".svg") for n in names if n.endswith(".svg")
    }
    assert not [name for name in names if name.startswith(".")]
    report = json.loads((out / "report.json").read_text())
    metric = {row[0].removesuffix(".mp4"): float(row[1]) for row in rows(scores)}
    rated = {row[0].removesuffix(".gif"): np.mean([float(cell) for cell in row[2:4]]) for row in rows(ratings)}
    expected = spearmanr([metric[clip] for clip in rated], list(rated.values())).statistic
    found = next(a for a in report["alignments"] if (a["metric"], a["dimension"]) == ("mss", "temporal_quality"))
    assert found["spearman"]["value"] == pytest.approx(expected)
    assert report["settings"]["resamples"] == 50
    matching = json.loads((out / "matching.json").read_text())
    assert matching["scores_only"] == ["9_alpha.mp4"]
    assert {clip["model"] for clip in matching["matched"]} == set(MODELS)
    assert matching["columns"]["scores"] == {"clip": "clip", "mss": "score", "ssim": "score"}
    assert matching["columns"]["ratings"]["source"] == "model"
    assert matching["compared"] == {"mss": ["temporal_quality"], "ssim": ["temporal_quality"]}


def test_options(vmmetrics: Any, files: tuple[Path, Path], capsys: Captured) -> None:
    command = ("align", *files, "--resamples", 20)
    options = ("--pair", "mss=static_quality", "--lower-is-better", "ssim", "--exclude-model", "gamma", "--seed", 7)
    assert vmmetrics(*command, *options, "--scale", 1, 5, "--ratings-format", "wide") == 0
    shown = capsys.readouterr().out
    assert "compared with: mss → static_quality; ssim → temporal_quality" in shown
    assert "12 clips, 6 prompts, 2 models" in shown
    assert vmmetrics(*command, "--lower-is-better", "ssim", "--out", "turned") == 0
    capsys.readouterr()
    assert "Lower is better, sign turned: ssim" in Path("turned/report.md").read_text()
    assert vmmetrics(*command, "--metrics", "ssim", "--dimension", "static_quality") == 0
    assert "compared with: ssim → static_quality" in capsys.readouterr().out


def test_by_a_column_and_only_some_clips(
    vmmetrics: Any, files: tuple[Path, Path], tmp_path: Path, capsys: Captured
) -> None:
    command = ("align", *files, "--resamples", 20)
    options = ("--group-by", "model", "--where", "model=alpha", "--where", "model=beta", "--ties", "calibrated")
    assert vmmetrics(*command, *options, "--mos", "recovered", "--out", "study") == 0
    shown = capsys.readouterr().out
    assert "12 clips, 6 prompts, 2 models" in shown
    assert "Against temporal_quality by model" in shown and "alpha (6)" in shown and "gamma" not in shown
    table = (tmp_path / "study/groups.csv").read_text().splitlines()
    assert table[0].startswith("model,section,metric") and {line.split(",")[0] for line in table[1:]} == {
        "alpha",
        "beta",
    }
    report = json.loads((tmp_path / "study/report.json").read_text())
    assert (report["settings"]["ties"], report["settings"]["mos"]) == ("calibrated", "recovered")
    assert any("quality recovered from its raters" in line for line in report["matching"])
    assert report["models_ranked"][0]["wins"]["models"][0]["pairs"] > 0
    assert vmmetrics(*command, "--group-by", "kind") == 2
    assert "No table has a column 'kind'" in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_many_clips_without_a_partner_are_named_in_a_file(vmmetrics: Any, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "s.csv").write_text("clip,mss\n" + "".join(f"s{n},{n}\n" for n in range(20)))
    (tmp_path / "r.csv").write_text("clip,q\n" + "".join(f"s{n},{n % 5}\n" for n in range(12)))
    assert vmmetrics("align", "s.csv", "r.csv", "--resamples", 10) == 0
    shown = capsys.readouterr()
    assert "s12, s13, s14, s15, s16 and 3 more" in shown.out
    assert "--out DIR writes them to matching.json" in shown.err


def test_a_run_against_ratings(vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Captured) -> None:
    clips = make_clips("good/1", "good/2", "fair/1", "fair/2")
    assert vmmetrics("score", clips, "--out", "run") == 0
    (tmp_path / "r.csv").write_text("clip,rater,motion\ngood/1,x,5\ngood/2,x,4\nfair/1,x,2\nfair/2,x,1\n")
    capsys.readouterr()
    assert vmmetrics("align", "run", "r.csv", "--resamples", 10) == 0
    shown = capsys.readouterr().out
    assert "4 clips, 2 prompts, 2 models" in shown
    assert "→ motion" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scores.csv"], "SCORES... RATINGS"),
        (["nowhere.csv", "ratings.csv"], "no such file"),
        (["scores.csv", "nowhere.csv"], "Cannot read"),
        (["scores.csv", "ratings.csv", "--pair", "mss"], "METRIC=DIMENSION"),
        (["scores.csv", "ratings.csv", "--pair", "mss=beauty"], "No dimension 'beauty'"),
        (["scores.csv", "ratings.csv", "--lower-is-better", "xyz"], "No metric xyz"),
        (["scores.csv", "ratings.csv", "--reference", "xyz"], "xyz"),
        (["scores.csv", "ratings.csv", "--exclude-model", "xyz"], "xyz"),
        (["scores.csv", "ratings.csv", "--ratings-format", "excel"], "Expected one of long"),
        (["scores.csv", "ratings.csv", "--scale", "1", "3"], "expected a rating from 1 to 3"),
        (["scores.csv", "ratings.csv", "--out", "scores.csv"], "Cannot write report to scores.csv: File exists"),
        (["scores.csv", "ratings.csv", "--out", "."], "holds other files"),
        (["ratings.csv", "."], "is a folder but not a released set"),
    ],
)
def test_what_the_user_must_mend(
    vmmetrics: Any, files: tuple[Path, Path], capsys: Captured, arguments: list[str], message: str
) -> None:
    assert vmmetrics("align", *arguments) == 2
    shown = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert message in shown


def test_plan(vmmetrics: Any, capsys: Captured) -> None:
    assert vmmetrics("plan", "--raters", 3, "--clips-per-prompt", 1) == 0
    shown = capsys.readouterr().out
    clips = next(int(line.split()[1]) for line in shown.splitlines() if line.split()[:1] == ["3"])
    assert 450 < clips < 550  # z test of two dependent correlations, 0.6 and 0.7 with 0.42 between them: 500
    assert vmmetrics("plan", "--first", 0.6, "--second", 0.6) == 2


def test_a_dry_run_says_how_columns_are_read_and_computes_nothing(
    vmmetrics: Any, files: tuple[Path, Path], tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vmmetrics.alignment import study_report

    monkeypatch.setattr(study_report, "align", None)  # calling it would be an error
    scores, ratings = files
    scores.write_text(scores.read_text().replace("clip,mss,ssim", "clip,mss,fps"))
    assert vmmetrics("align", scores, ratings, "--out", "study", "--dry-run") == 0
    shown = capsys.readouterr().out
    lines = {tuple(line.split(maxsplit=1)) for line in map(str.strip, shown.splitlines())}
    assert ("mss", "score") in lines
    assert ("source", "model") in lines
    assert any(line[0] == "fps" and line[1].startswith("passed over") for line in lines if len(line) == 2)
    assert "18 clips with a score and a rating, 6 prompts, 3 models" in shown
    assert "1 clips only in the scores: 9_alpha.mp4" in shown
    assert re.search(r"mss\s+temporal_quality\s+18\s+2", shown)
    assert not (tmp_path / "study").exists()


def test_ratings_in_a_folder_of_scores_are_no_scores(
    vmmetrics: Any, files: tuple[Path, Path], tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "scores").mkdir()
    results = [{"video_path": f"{n}_alpha.mp4", "video_results": 1 / (2 + n)} for n in range(2)]
    (tmp_path / "scores" / "r_eval_results.json").write_text(json.dumps({"scene": [0.4, results]}))
    ratings = tmp_path / "scores" / "ratings.csv"
    ratings.write_text("clip,quality\n0_alpha.gif,1\n1_alpha.gif,2\n")
    assert vmmetrics("align", "scores", ratings, "--dry-run") == 0
    compared = capsys.readouterr().out.partition("Compared")[2]
    assert re.findall(r"^ *(\w+) +quality", compared, re.MULTILINE) == ["scene"]


def test_a_dry_run_without_a_match_still_says_how_columns_are_read(
    vmmetrics: Any, files: tuple[Path, Path], capsys: Captured
) -> None:
    scores, ratings = files
    ratings.write_text("clip,rater,temporal_quality\nx.mp4,r,1\ny.mp4,r,2\n")
    assert vmmetrics("align", scores, ratings, "--dry-run") == 2
    shown = capsys.readouterr()
    assert "rating of temporal_quality" in shown.out
    assert "No clip is in both" in shown.err
    assert "--clip-column" in shown.err
    assert vmmetrics("align", scores, ratings, "--dry-run", "--format", "json") == 2
    out, err = capsys.readouterr()
    assert "rating of temporal_quality" in str(json.loads(out))
    assert "No clip is in both" in err


def test_where_the_rest_goes_is_said_once_and_not_if_quiet(
    vmmetrics: Any, files: tuple[Path, Path], capsys: Captured
) -> None:
    common = ("align", *files, "--resamples", 20)
    assert vmmetrics(*common) == 0
    out, err = capsys.readouterr()
    assert HINT in err and HINT not in out
    assert vmmetrics(*common, "--quiet") == 0
    assert HINT not in "".join(capsys.readouterr())


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_dry_run_without_a_match_in_other_formats(
    vmmetrics: Any, files: tuple[Path, Path], capsys: Captured, form: str
) -> None:
    scores, ratings = files
    ratings.write_text("clip,rater,temporal_quality\nx.mp4,r,1\ny.mp4,r,2\n")
    assert vmmetrics("align", scores, ratings, "--dry-run", "--format", form) == 2
    shown = capsys.readouterr()
    assert "rating of temporal_quality" in shown.out
    assert form != "json" or json.loads(shown.out)
    assert "No clip is in both" in shown.err


def test_scores_called_ratings_stand_beside_the_ratings_in_a_dry_run(
    vmmetrics: Any, files: tuple[Path, Path], tmp_path: Path, capsys: Captured
) -> None:
    scores, ratings = files
    (tmp_path / "a").mkdir()
    scores.rename(tmp_path / "a" / "ratings.csv")
    assert vmmetrics("align", "a/ratings.csv", ratings, "--dry-run", "--format", "json") == 0
    shown = capsys.readouterr().out
    assert "rating of temporal_quality" in shown
    assert re.search(r'"mss"[^}]*"score"', shown)
