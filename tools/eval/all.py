"""Every figure that is stated, in one table: `all.py --lifelogs DIR --work DIR [--seeds 1,2,3] [--composed 100,101]`.

`--lifelogs` holds `make_lifelog.py`, `natural-N.json`, `questions-to-parse.json` and `score.py`. Streams and memories are made below
`--work` where they are missing, with edgemem's default recipe. Composed streams (`run.py`) are asked and scored the same way. Of every
life log come words that nothing answers to, things that were never there, and claims that nothing proves (`claims_set`); at last the
parser's figures on the half of the labelled questions that is not looked at.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ask import ask_all, make_kit
from parsing import labelled, measure

from edgemem.answer.planner import AnswerKit

NONSENSE = (
    "blicket dax wug flumph zorple quibnar snerd glorp frindle toma modi koba vonk plim tarv skree borfin nelip drazz yomple grifta hulon"
    " pesko tibbet wumble zindor calup freeb gomzy harlip jexa krovin lumdit moxel narbo optal pragle quom resdin sothy trankle umbrix"
    " vistle wolpa xandi yurbo zemlin fendle birko saffit"
)
ABSENT = (
    "hammock kayak typewriter accordion chandelier wheelchair snowman tent crutches lighthouse telescope anchor surfboard pram stroller"
    " rake shovel drill toaster blender dishwasher ladder curtains mattress bathtub toothbrush hairdryer lipstick wallet passport earring"
    " necklace bracelet sunglasses scarf glove boot sandal slipper stapler envelope calendar backpack suitcase laptop headphones microphone"
    " drone projector skateboard snowboard dartboard domino jigsaw saucepan ladle whisk corkscrew pizza pancake sushi pretzel donut shrimp"
    " hedgehog hamster zebra kangaroo koala panda"
)
OTHER = (
    "umbrella,ironing board,salt shaker,cheese grater,paintbrush,light bulb,fishing rod,golf club,hockey stick,yoga mat,"
    "fire hydrant,traffic cone,mailbox,trampoline,sandcastle,windmill,fountain,escalator,chimney,hourglass,magnet,"
    "globe,candle,lantern,matchbox,ashtray,vase,teapot,lunchbox,chopsticks,rolling pin,colander,bagel,croissant,"
    "avocado,coconut,pumpkin,turnip,radish,oyster,squid,penguin,walrus,moose,hyena,vulture,flamingo,peacock,"
    "squirrel,grasshopper,tortoise,harmonica,xylophone,bagpipes,canoe,sledge,wheelbarrow,bucket,vacuum cleaner,"
    "toilet brush"
)
"""More of them. The least confidence was chosen with `ABSENT` in view; that of first and last times by these."""
FRESH = (
    "lawnmower,doormat,hairbrush,comb,thermos flask,bicycle pump,clothes hanger,watering can,birdcage,doorbell,radiator,sewing machine,"
    "steam iron,teaspoon,spatula,wine glass,bottle opener,cushion,bunk bed,bookcase,picture frame,alarm clock,remote control,keyboard,"
    "printer,tripod,helmet,ice skates,basketball hoop,dumbbell,treadmill,seesaw,gravestone,bulldozer,helicopter,submarine,hot air balloon,"
    "caravan,scooter,snail,spider,lizard,crocodile,shark,dolphin,octopus,jellyfish,lobster,swan,ostrich,badger,giraffe,rhinoceros,pineapple,"
    "cauliflower,aubergine,broccoli,sandwich,birthday cake,hamburger"
)
"""By these nothing was chosen, but how many are affirmed was known."""
FURTHER = (
    "car keys,reading glasses,phone charger,water bottle,coffee mug,frying pan,can opener,measuring cups,kettle,nail clippers,razor,"
    "bath towel,tweezers,shower cap,scissors,sticky notes,calculator,hole punch,tape measure,hammer,screwdriver,spirit level,"
    "jump leads,garden hose,flower pots,pruning shears,pencil case,ruler,library book,thermometer,stethoscope,pill box,park bench,"
    "bicycle,bus ticket,shopping trolley,winter coat,leather belt,running shoes,baseball cap,teddy bear,toy train,electricity bill,"
    "birth certificate,peanut butter,tennis racket,dog leash,neighbour's cat"
)
"""By another hand, without what the other lists have; asked for once, when the limits stood."""
WORDINGS = ("When did I last see the {}?", "Did I see a {}?", "Where is my {}?")
OURS = Path(__file__).parent / "natural_set"
CLAIMS = Path(__file__).parent / "claims_set"
CLI = [sys.executable, "-m", "edgemem"]


def lifelog(home: Path, work: Path, seed: str) -> tuple[Path, Path]:
    """(stream folder, memory) of one seed, made if missing."""
    stream, memory = work / f"life{seed}", work / f"mem{seed}"
    if not (stream / "life.mp4").exists():
        make = [sys.executable, str(home / "make_lifelog.py"), "--seed", seed, "--minutes", "12", "--out", str(stream)]
        subprocess.run(make, check=True)
    ingest(stream / "life.mp4", memory, "2026-03-01T08:00:00Z")
    return stream, memory


def composed(work: Path, seed: str) -> tuple[Path, Path]:
    """(stream folder, memory) of one composed stream, with its questions as `qa.json`."""
    from compose import compose

    stream, memory = work / f"s{seed}-12m", work / f"s{seed}-12m-memory"
    if not (stream / "truth.json").exists():
        compose(int(seed), 12.0, stream, questions=90)
    truth = json.loads((stream / "truth.json").read_text())
    ingest(stream / truth["video"], memory, truth["start"])
    (stream / "qa.json").write_text(json.dumps(list(as_lifelog(truth))))
    return stream, memory


def ingest(video: Path, memory: Path, start: str) -> None:
    """Remember a video, unless the memory is there."""
    if not memory.exists():
        subprocess.run([*CLI, "ingest", str(video), "--memory", str(memory), "--start", start], check=True)


def as_lifelog(truth: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Composed questions in the form that `score.py` reads; those asked at another time are left out.

    Whether a thing was seen that was not is a question without an answer: to say no is as right as to abstain.
    """
    for q in truth["questions"]:
        if q["kind"] == "day":
            continue
        never = q["check"] == "yesno" and not q["yes"] and not q["spans"]
        check, keys = None, ["|".join(q["accept"])]
        if q["answerable"] and q["check"] in {"option", "count", "yesno"}:
            keys = [str(q["count"])] if q["check"] == "count" else ["yes" if q["yes"] else "no"]
            check = {"yesno": "text"}.get(q["check"], q["check"])
        elif q["answerable"]:
            check = "text" if q["check"] in {"text", "place"} and q["accept"] else "top1" if q["kind"] in {"first", "last"} else None
        answer = q["options"][q["option"]] if q["option"] is not None else keys[0]
        yield {
            "id": q["id"], "type": q["kind"], "question": q["text"], "answer": answer, "options": q["options"] or None, "spans": q["spans"],
            "channel": "", "unanswerable": never or not q["answerable"], "keys": keys, "check": check, "no_is_right": never,
        }  # fmt: skip


def scored(scorer: Path, kit: AnswerKit, memory: Path, qa: Path, out: Path) -> str:
    """Ask everything and print what the scorer says in one line."""
    questions = json.loads(qa.read_text())
    out.write_text("".join(json.dumps(one) + "\n" for one in ask_all(kit, memory, questions)))
    found = figures(scorer, qa, out)
    numbers = " ".join(f"{found[name]:6.1f}" for name in ("score", "recall", "right", "f1"))
    return f"{numbers} {found['wrong']:>8} {found['false']:>7}"


def figures(scorer: Path, qa: Path, answers: Path) -> dict[str, Any]:
    """What the scorer says: four figures in percent, and "3/60" for what is wrong and confident and for false affirmations."""
    command = [sys.executable, str(scorer), "--qa", str(qa), "--answers", str(answers)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    told = {line.partition(":")[0]: line.partition(":")[2].strip() for line in lines if ":" in line}
    sure = told["wrong and confident (>= .5)"]
    return {
        "score": float(told["score"]), "recall": float(next(line.split()[2] for line in lines if line.startswith("overall"))),
        "right": float(next(line.split()[2] for line in lines if line.startswith("answer accuracy"))),
        "f1": float(told["abstention"].split("F1 ")[1]), "wrong": sure.split(" ")[0], "false": sure.rsplit(": ", 1)[-1].split()[0],
    }  # fmt: skip


def affirmed(kit: AnswerKit, memory: Path, names: Sequence[str]) -> str:
    """How many questions about these, each asked in every wording, are answered: that it was seen. And of the first wording alone."""
    wordings = (wording.format(name) for name in names for wording in WORDINGS)
    asked = [{"id": str(i), "question": wording} for i, wording in enumerate(wordings)]
    said = ask_all(kit, memory, asked)
    yes = [one["result"]["status"] == "answered" for one in said]
    last = yes[:: len(WORDINGS)]
    return f"{sum(yes)}/{len(yes)} ({sum(last)}/{len(last)})"


def said_yes(kit: AnswerKit, memory: Path, file: Path) -> str:
    """How many of the questions of a file, one a line, are answered with yes."""
    asked = [{"id": str(i), "question": line} for i, line in enumerate(file.read_text().splitlines()) if line.strip()]
    said = ask_all(kit, memory, asked)
    return f"{sum(one['result']['answer'].startswith('Yes') for one in said)}/{len(said)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lifelogs", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--composed", default="")
    args = parser.parse_args()
    kit, scorer = make_kit(), args.lifelogs / "score.py"
    print(f"{'questions':24} {'score':>6} {'R@10':>6} {'right':>6} {'F1':>6} {'wrong>.5':>8} {'false':>7}")
    for seed in filter(None, args.composed.split(",")):
        stream, memory = composed(args.work / "composed", seed)
        print(f"{'composed ' + seed:24}", scored(scorer, kit, memory, stream / "qa.json", args.work / f"composed{seed}.jsonl"), flush=True)
    for seed in filter(None, args.seeds.split(",")):
        stream, memory = lifelog(args.lifelogs, args.work, seed)
        truth = json.loads((stream / "truth.json").read_text())
        shown = " ".join(name for one in truth["appearances"] for name in (*one["names"], *one["hypernyms"]))
        absent = [
            affirmed(kit, memory, [name for name in names if name not in shown])
            for names in (ABSENT.split(), OTHER.split(","), FRESH.split(","), FURTHER.split(","))
        ]
        kinds = (("ours", "natural"), ("unusual", "unusual"))
        ours = ((f"{name}{more}", OURS / f"{kind}-{seed}{more}.json") for name, kind in kinds for more in ("", "-2", "-3", "-4"))
        for name, qa in (("template", stream / "qa.json"), ("natural", args.lifelogs / f"natural-{seed}.json"), *ours):
            if qa.exists():
                line = scored(scorer, kit, memory, qa, args.work / f"{name}{seed}.jsonl")
                print(f"{f'lifelog {seed}, {name}':24}", line, flush=True)
        print(
            f"{'':24} affirmed (last seen): nonsense {affirmed(kit, memory, NONSENSE.split())}, absent things {', '.join(absent)}",
            flush=True,
        )
        if (CLAIMS / f"unproved-{seed}.txt").exists():
            unproved, true = (said_yes(kit, memory, CLAIMS / f"{name}-{seed}.txt") for name in ("unproved", "true"))
            print(f"{'':24} yes to claims that nothing proves {unproved}, to true ones {true}", flush=True)
    labels = json.loads((args.lifelogs / "questions-to-parse.json").read_text())
    for name, value in measure([label for label in labels if int(label["id"][1:]) % 2]).items():
        print(f"{'parsing: ' + name:44} {value:6.1f}")
    for lot in sorted(OURS.with_name("parse_set").glob("*_*.*")):
        print(f"{f'parsing, {lot.stem}: every slot':44} {measure(labelled(lot))['every slot']:6.1f}")


if __name__ == "__main__":
    main()
