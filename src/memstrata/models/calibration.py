"""What cosines of an unknown embedder mean, measured on a few texts of our own.

Of every question here the passages that do not answer it are the background: how close comes what
does not belong together. English is compared with English, Chinese with Chinese, and both count the
same. About 750 pairs tell the commoner nine tenths of the scale; the rare end is drawn out from
there, more gently than it rose before, as it goes with the models that were measured on real
conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memstrata.models.inprocess import LEVELS

__all__ = ["PASSAGES", "QUESTIONS", "Scales", "measure"]

_SHARES = (1.0, 0.9, 0.5, 0.25, 0.1, 0.05, 0.01)
"""Of the pairs, those that come closer; they belong to the first of `LEVELS`."""
_GENTLER = 0.75
_MOST = 0.6
"""Of the way to 1, what the drawn-out part takes per fifth of the scale at most."""

_ENGLISH = """
[3 February 2026] Ines: I fired the new kiln today, the glaze came out a deep blue.
[3 February 2026] Tomasz: Nice! My sister Alma starts at the print shop on Monday.
[9 February 2026] Ines: I can't eat walnuts any more, my throat swells up.
[9 February 2026] Tomasz: Then I'll bake the apple cake without nuts on Sunday.
[14 February 2026] Ines: We took the night train to Trieste and it was two hours late.
[14 February 2026] Tomasz: I've been learning the accordion for three weeks now.
[1 March 2026] Ines: The landlord wants 840 a month for the studio, heating included.
[1 March 2026] Tomasz: That's steep. I pay 310 for my half of the flat in Mill Street.
[6 March 2026] Ines: My dog Pepper had an operation on his left paw.
[6 March 2026] Tomasz: Poor thing! How long does he have to wear the collar?
[20 March 2026] Ines: I gave up coffee, I only drink mint tea in the morning.
[20 March 2026] Tomasz: The swimming pool opens at half past six, I go before work.
[2 April 2026] Ines: Alma printed two hundred posters for my exhibition in May.
[2 April 2026] Tomasz: I'll help you hang the lamps, I have a ladder and a drill.
[11 April 2026] Ines: My grandmother used to sing us a song about a grey goose.
[11 April 2026] Tomasz: I finally read the book about lighthouses you lent me.
[25 April 2026] Ines: The doctor says my iron is low, so I take tablets now.
[25 April 2026] Tomasz: I sold the motorbike and bought a cargo bicycle instead.
[8 May 2026] Ines: Forty people came to the opening, and I sold six bowls.
[8 May 2026] Tomasz: Congratulations! Let's celebrate at the Georgian restaurant.
[30 May 2026] Ines: To clean the brushes soak them in warm water with vinegar for an hour.
[30 May 2026] Tomasz: My contract at the observatory was extended until next June.
[12 June 2026] Ines: I moved my workshop to the old dairy behind the station.
[12 June 2026] Tomasz: I'm afraid of flying, so we'll take the ferry to Corfu.
"""

_CHINESE = """
[3 February 2026] 苏禾: 新买的烤箱今天第一次用，面包烤得有点焦。
[3 February 2026] 陆川: 我妹妹下个月要去成都的医院实习。
[9 February 2026] 苏禾: 我对虾过敏，一吃就起疹子。
[9 February 2026] 陆川: 那周六聚餐我们就去吃素菜馆吧。
[14 February 2026] 苏禾: 回老家的高铁票太难抢了，最后坐了一夜的慢车。
[14 February 2026] 陆川: 我开始学拉二胡了，邻居已经来敲过门。
[1 March 2026] 苏禾: 房东把房租涨到了每月四千二。
[1 March 2026] 陆川: 我和同事合租，离地铁站走路只要五分钟。
[6 March 2026] 苏禾: 我家的猫团子最近不爱吃饭，明天带它去看兽医。
[6 March 2026] 陆川: 可能是天气太热了，多给它喝点水。
[20 March 2026] 苏禾: 我把咖啡戒了，现在早上只喝豆浆。
[20 March 2026] 陆川: 我每周三晚上去体育馆打羽毛球。
[2 April 2026] 苏禾: 我的毕业论文写的是宋代的瓷器。
[2 April 2026] 陆川: 电脑蓝屏了，重装系统花了我一个下午。
[11 April 2026] 苏禾: 外婆教我包的粽子，馅里要放咸蛋黄。
[11 April 2026] 陆川: 你借给我的那本讲候鸟的书，我终于看完了。
[25 April 2026] 苏禾: 体检说我的血糖偏高，要少吃甜的。
[25 April 2026] 陆川: 我把旧相机卖了，换了一台无人机。
[8 May 2026] 苏禾: 公司派我去广州出差三天，住在珠江边上。
[8 May 2026] 陆川: 恭喜你升职！周末请客吃火锅。
[30 May 2026] 苏禾: 给兰花浇水要等土干透，冬天半个月一次就够。
[30 May 2026] 陆川: 我的驾照考了三次才通过。
[12 June 2026] 苏禾: 我们搬到河边的新小区了，阳台能看到桥。
[12 June 2026] 陆川: 我有点恐高，爬山的时候不敢往下看。
"""

_ASKED_IN_ENGLISH: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("What food is Ines allergic to?", (2, 3)),
    ("Which instrument is Tomasz learning?", (5,)),
    ("How much rent does Tomasz pay?", (7, 6)),
    ("What happened to the dog?", (8, 9)),
    ("What does Ines drink in the morning?", (10,)),
    ("When does Tomasz go swimming?", (11,)),
    ("Who made the posters for the exhibition?", (12,)),
    ("How do I clean the brushes?", (20,)),
    ("Where is Ines's workshop now?", (22,)),
    ("How many bowls were sold at the opening?", (18,)),
    ("What is Tomasz afraid of?", (23,)),
    ("How does Tomasz get around since he sold the motorbike?", (17,)),
    ("What medicine does Ines take?", (16,)),
    ("Where does Tomasz work?", (21,)),
    ("Which book did Ines lend him?", (15,)),
    ("What does Tomasz's sister do?", (1, 12)),
)

_ASKED_IN_CHINESE: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("苏禾不能吃什么？", (2, 16)),
    ("陆川在学什么乐器？", (5,)),
    ("现在房租是多少钱？", (6,)),
    ("苏禾的宠物叫什么名字？", (8, 9)),
    ("苏禾早上喝什么？", (10,)),
    ("陆川什么时候打球？", (11,)),
    ("论文的题目是关于什么的？", (12,)),
    ("粽子里放什么馅？", (14,)),
    ("兰花多久浇一次水？", (20,)),
    ("她现在住在哪里？", (22,)),
    ("陆川害怕什么？", (23,)),
    ("陆川卖掉了什么？", (17,)),
    ("体检结果怎么样？", (16,)),
    ("驾照考了几次？", (21,)),
    ("借来的那本书是讲什么的？", (15,)),
    ("陆川的妹妹要去哪里？", (1,)),
)

PASSAGES: tuple[tuple[str, ...], ...] = tuple(
    tuple(text.strip().splitlines()) for text in (_ENGLISH, _CHINESE)
)
"""By language."""
QUESTIONS = (_ASKED_IN_ENGLISH, _ASKED_IN_CHINESE)
"""By language, each with the places of the passages that have to do with its answer."""


class Scales(NamedTuple):
    """The cosines that belong to `LEVELS` but for the last, which is 1."""

    background: tuple[float, ...]
    """Of a question and a passage that does not answer it."""
    kinship: tuple[float, ...]
    """Of two passages."""


def measure(embed: Callable[[Sequence[str], bool], NDArray[np.float32]]) -> Scales:
    """Ask an embedder for vectors of the texts here; it is told whether they are queries."""
    apart: list[NDArray[np.float32]] = []
    akin: list[NDArray[np.float32]] = []
    rows = embed([text for passages in PASSAGES for text in passages], False)
    asked = embed([text for questions in QUESTIONS for text, _ in questions], True)
    for number, questions in enumerate(QUESTIONS):
        there, here = (np.split(all, len(PASSAGES))[number] for all in (rows, asked))
        cosines = here @ there.T
        apart += [np.delete(cosines[row], own) for row, (_, own) in enumerate(questions)]
        akin.append((there @ there.T)[np.triu_indices(len(there), 1)])
    return Scales(_scale(apart), _scale(akin))


def _scale(groups: Sequence[NDArray[np.float32]]) -> tuple[float, ...]:
    cosines = np.concatenate(groups).astype(np.float64)
    known = np.quantile(cosines, [1.0 - share for share in _SHARES])
    points = [float(one) for one in known]
    rise = (points[-1] - points[-3]) / (LEVELS[6] - LEVELS[4]) * _GENTLER
    for before, level in pairwise(LEVELS[6:-1]):
        step = min(rise * (level - before), (1.0 - points[-1]) * _MOST * (level - before) / 0.2)
        points.append(points[-1] + step)
    # Never falling, and below the 1 of identical texts.
    rising = np.maximum.accumulate(points) + np.arange(len(points)) * 1e-9
    return tuple(float(one) for one in np.minimum(rising, 1.0 - 1e-6))
