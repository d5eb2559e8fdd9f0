from __future__ import annotations

import time

import pytest

from memstrata.recall.small_talk import is_assent, is_small_talk, without_small_talk

ENGLISH = """
hi
Hello!
hey there
Hi Ana!
Hello, Bob.
heyyy
Good morning! How are you today?
good evening everyone
Morning!
Good night, sleep well
gn
hey, what's up?
What's up?
sup
How's it going?
How are you doing today?
how have you been?
How was your weekend?
How's your day going so far?
Long time no see!
Nice to meet you
Are you there?
I'm fine, thanks. And you?
doing well, thanks
I'm good, how about you?
thanks
Thank you so much!
thx
thanks, that worked great
Thanks a lot for your help!
Thank you for explaining
Thanks Bob, that helps a lot.
much appreciated
cheers
ok cool
okay
Ok, got it.
I see
makes sense
understood
sounds good!
That's great
That is so funny
that sounds really lovely
perfect, thanks
yes
no
no, thanks
sure thing
exactly!
me too
I agree
you're right
of course
no problem
you're welcome
never mind
haha
hahahaha
lol
LOL that's hilarious
hehe
wow
omg
awww
sorry about that
my bad
really?
bye
Bye for now!
see you tomorrow
See you later, take care!
talk to you soon
gotta go, bye
have a nice day
Enjoy your weekend!
you too
good luck
Happy new year!
congratulations!
well done
good job
I love it
that's all for today
👍
😂😂😂
❤️
...
:)
"""

CHINESE = """
你好
您好!
大家好
嗨
哈喽
在吗？
早上好,今天怎么样?
早安
晚上好
晚安
晚安,好梦
好久不见
好久不见,最近怎么样？
你好吗?
最近过得怎么样
吃了吗
谢谢
谢谢你
谢谢,太好了
谢谢你的帮助!
非常感谢
太感谢了
多谢啦
辛苦了
不客气
不用谢
没事
没关系
好的
好的呀
好
好吧
行
行吧
可以
没问题
嗯
嗯嗯
嗯,好的
哦
知道了
明白了
我懂了
收到
原来如此
对
对啊
是的
没错
确实
当然
有道理
说得对
我也是
我同意
好主意
太好了
太棒了！
真不错
真好
厉害
哇
哇塞
天哪
哈哈
哈哈哈哈
嘿嘿
呵呵
笑死我了
真有趣
再见
拜拜
明天见
回头见
下次再聊
我先走了
我去睡了
早点休息
周末愉快
新年快乐
祝你开心
加油
对不起
不好意思
不用了
算了
没什么
真的吗？
我很好,你呢？
解决了,谢谢
帮大忙了
等一下
让我想想
ok 谢谢
haha 好的
谢谢😊
🎉
"""

ENGLISH_NOT = """
hi, what is my dentist's name?
Hello, do you know where Ana lives?
thanks! and when is it?
Thanks, and Bob?
ok, where did I put the keys?
ok so what did I order?
Good morning, what's on my calendar today?
Good morning Vietnam is my favourite film
Do you remember me?
Who am I?
What's my name?
What's up with Marta?
how are you related to Ana?
How is Marta doing?
How's Bob?
How's the project going?
How was your trip to Oslo?
How was my weekend in May?
how are things between Ana and Bob?
What's new with Bob?
why?
when?
where?
who?
which one?
and him?
what about her?
and in June?
?
??
yes, the red one
no, I meant Carla
no, Tuesday
sure, call Ana
Sure, but what about the tickets?
thanks to Bob I got the job
thanks for the recipe Ana sent
see you at Ana's party
See you in Oslo on Friday
talk to you about the contract
I love Ana
I love sushi
I like hiking
I'm good at chess
I'm back from Lisbon
I'm sorry about Rex
I'm going to Lima
I'm tired
I agree with Carla
I know Bob
I see Ana every Sunday
that's my sister
that's Bob's bike
that worked for the printer too
It works with the new router
Great Barrier Reef
Nice, France
Happy birthday to my son
have a meeting with Bob
have a nice recipe for soup?
good luck charm I bought in Rome
well, my knee hurts
hello world program in Rust
bye bye blues by whom?
so what happened?
really bad headache today
remind me
tell me more
42
Ana
Bob?
bakery
help
I need help
password
Are you there on Monday?
Can you see Ana's note?
never mind the rain, is the picnic on?
no problem with the boiler since May
what did I say?
what did you tell me yesterday?
haha, what was that joke Bob told?
lol who said that
"""

CHINESE_NOT = """
我今天怎么去上班?
你好,我的牙医叫什么?
你好,小雨住在哪里?
谢谢!那什么时候?
谢谢,王伟呢?
好的,钥匙放在哪里了?
好,我的航班几点?
早上好,我今天有什么安排?
早上我吃了什么?
晚上好吃的有什么?
晚安前要吃药吗?
你还记得我吗?
我是谁?
我叫什么名字?
小雨最近怎么样?
她最近怎么样?
王伟还好吗?
项目怎么样了?
北京今天怎么样?
今天天气怎么样?
我最近怎么样?
为什么?
什么时候?
在哪里?
谁?
哪个?
多少钱?
怎么样?
然后呢?
那她呢?
那他呢
那上海呢?
那上个月呢
？
对,红色的那个
不是,是小雨
不,星期二
可以,给妈妈打电话
好的酒店有哪些?
好吃
对花生过敏
对不起我忘了王伟的生日
谢谢王伟的礼物
感谢信写好了吗
明天见小雨
明天见客户
下周见医生
再见面是什么时候
我喜欢寿司
我喜欢小雨
我爱跑步
我也是老师
我也是四川人
我同意王伟
我知道密码
我走了五公里
我去睡了一觉然后去跑步
我很好奇
我累了
我生病了
真的药还是假药
真好吃的面
太好了那家店
不错的餐厅
厉害的教练是谁
哈哈,那个笑话是谁讲的?
哈尔滨
嘿嘿,你猜我买了什么
没问题的话几点出发
没事的时候我做什么
解决了哪个问题
等一下几点开会
让我想想我的生日
周末愉快的回忆
新年快乐是谁说的
加油站在哪
收到包裹了吗
收到王伟的信
小雨
面包店
密码
提醒我
帮我
在吗啡的作用下
祝你妈妈生日快乐
我的狗
42
"""


def _rows(table: str) -> list[str]:
    return table.strip().splitlines()


@pytest.mark.parametrize("turn", _rows(ENGLISH) + _rows(CHINESE))
def test_small_talk(turn: str) -> None:
    assert is_small_talk(turn)


@pytest.mark.parametrize("turn", _rows(ENGLISH_NOT) + _rows(CHINESE_NOT))
def test_a_word_of_substance_and_it_is_none(turn: str) -> None:
    assert not is_small_talk(turn)


def test_the_tables_are_as_long_as_they_should_be() -> None:
    assert all(len(_rows(t)) >= 60 for t in (ENGLISH, CHINESE, ENGLISH_NOT, CHINESE_NOT))


@pytest.mark.parametrize("turn", ["", "  ", "\n", "\x00", "\u200b"])
def test_a_blank_turn_is_no_small_talk(turn: str) -> None:
    assert not is_small_talk(turn)


@pytest.mark.parametrize(
    ("turn", "assent"),
    [
        ("yes", True),
        ("Yes please!", True),
        ("ok, go ahead", True),
        ("sure, thanks", True),
        ("haha, yes", True),
        ("好的", True),
        ("要,谢谢", True),
        ("no", False),
        ("thanks", False),
        ("haha", False),
        ("哈哈", False),
        ("不用了", False),
        ("👍", False),
        ("yes, the red one", False),
    ],
)
def test_assent(turn: str, assent: bool) -> None:
    assert is_assent(turn) is assent


@pytest.mark.parametrize(
    ("turn", "rest"),
    [
        ("thanks! and when is it?", "and when is it?"),
        ("hi, what is my dentist's name?", "what is my dentist's name?"),
        ("Where is Ana? Thanks!", "Where is Ana?"),
        ("谢谢!那什么时候?", "那什么时候?"),
        ("Where is Ana?", "Where is Ana?"),
        ("thanks!", "thanks!"),
        ("", ""),
        ("?", "?"),
    ],
)
def test_small_talk_around_a_question(turn: str, rest: str) -> None:
    assert without_small_talk(turn) == rest


@pytest.mark.parametrize(
    "turn",
    ["ha" * 50_000, "👍" * 100_000, "hi, " * 25_000, "哈" * 100_000, "好" * 399, "a" * 100_000],
)
def test_long_turns_are_quick(turn: str) -> None:
    is_small_talk("hi")  # reads the phrases
    started = time.perf_counter()
    is_small_talk(turn)
    is_assent(turn)
    without_small_talk(turn)
    assert time.perf_counter() - started < 1
