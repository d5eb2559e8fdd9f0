"""Word lists for telling names from other words: plain data, in small letters."""

from __future__ import annotations

__all__ = [
    "ALSO_NAMES",
    "CALENDAR",
    "CHINESE_TITLES",
    "COMPOUND_SURNAMES",
    "CONNECTORS",
    "HONORIFICS",
    "KIN",
    "NO_NAMES",
    "ORGANISATIONS",
    "PLACES",
    "PREFIXES",
    "STARTERS",
    "SURNAMES",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STARTERS = _words(
    """
    a an the this that these those such same other another any some each every both either neither
    all no not nor none only so too very just even also still yet again ever never once quite
    rather i i'm i've i'd i'll im ive me my mine myself we we're we've we'd we'll us our ours you
    you're you've you'd you'll your yours he he's him his she she's her hers it it's its they
    they're they've their theirs them one ones someone something anyone anything everyone
    everything nobody nothing
    am is are was were be been being do does did done doing have has had having will would shall
    should can could may might must isn't aren't wasn't weren't don't doesn't didn't won't can't
    couldn't wouldn't shouldn't haven't hasn't hadn't
    and but or if because as until while of at by for with about against between into through
    during before after above below to from up down in out on off over under than then here there
    here's there's that's what's who's where's how's let's since unless whether though although
    however therefore meanwhile instead besides otherwise finally eventually suddenly currently
    actually basically honestly luckily unfortunately fortunately hopefully probably maybe perhaps
    surely certainly definitely absolutely totally exactly obviously clearly apparently seriously
    really truly especially usually sometimes often always recently lately soon later now today
    tonight tomorrow yesterday first second third next last another well anyway
    what when where who whom whose which why how
    hi hey hello hiya yo dear bye goodbye cheers welcome thanks thank thx congrats congratulations
    sorry please yes yeah yep yup yay no nope nah ok okay sure right alright oh ooh oops ouch aw
    aww ah aha ahh hmm hm huh mmm um uh wow whoa woah woohoo woo omg lol haha hahaha hehe yikes
    phew gosh jeez damn great good nice cool awesome amazing wonderful perfect excellent fantastic
    incredible lovely beautiful brilliant fabulous superb sweet neat fun funny glad happy sad proud
    excited true false absolutely agreed indeed btw fyi imo tbh idk psa ps nb todo note
    see look looks looking sounds seems feels feel make makes making take takes taking took get
    gets getting got go goes going went come comes coming came give gives giving gave keep keeps
    keeping let lets try trying tried use used using want wanted wanting need needs needed know
    knew think thinks thought thinking say says said tell told ask asked talk talking talked hear
    heard hearing find found finding work works working worked play plays playing played love
    loves loved loving like likes liked enjoy enjoyed hate hope hoping wish guess bet believe
    remember remembering forget check checking watch watching watched read reading write writing
    start started starting stop help helped helping learn learned learning meet met meeting call
    called put set show showed tell run running walk walking buy bought bring brought add follow
    consider create choose open close visit plan planning prepare include includes including avoid
    focus continue based given according despite due thanks
    new old big small long short more most many much few little lots lot plenty several enough
    less least best better worst worse same different own whole half part
    one two three four five six seven eight nine ten hundred thousand
    day days week weeks month months year years time times morning afternoon evening night people
    man woman guy guys girl boy kid kids child children friend friends family home house life world
    work job school music food water money love heart thing things way place idea question answer
    wanna gonna gotta kinda sorta dunno cause cuz til hows whats thats theres lemme
    """
)
"""Words that often begin a sentence and are no names there."""

CALENDAR = _words(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    sat sun january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec spring summer autumn winter am pm
    mondays tuesdays wednesdays thursdays fridays saturdays sundays
    ok tv pm am id faq asap eta diy url pdf api ui ux utc gmt html css json xml sql http https
    """
)
"""What is written with a capital and still names nothing one remembers by name."""

KIN = _words(
    "mom mum dad mommy mummy daddy mama papa grandma grandpa granny grandmother grandfather mother "
    "father sis bro god lord"
)

ALSO_NAMES = _words("will hope")
"""Of the words that begin sentences, those that are names elsewhere when they have a capital."""

HONORIFICS = _words("dr mr mrs ms miss mx prof professor sir madam mme herr frau")

PREFIXES = _words(
    """
    new san santa saint st sao los las el la le north south east west central lake mount mt fort
    port cape great grand royal old upper lower golden red blue black white green big little
    aunt auntie uncle cousin king queen prince princess captain president lady lord sister brother
    father pope coach chef officer detective
    """
)
"""Ordinary words that begin names of more than one word."""

CONNECTORS = (
    *("of the", "of", "de la", "de los", "de", "del", "van der", "van den", "van", "von", "der"),
    *("da", "dos", "di", "du", "le", "bin", "ibn", "al", "y", "&", "for", "and the"),
)
"""Small words inside names: Bank of England, Ana de la Cruz."""

PLACES = _words(
    """
    street road avenue boulevard lane square park lake river mountain mountains mount valley beach
    bay island islands city town village county state forest canyon bridge station airport harbor
    harbour castle garden gardens plaza district province ocean sea desert falls peninsula hills
    """
)

ORGANISATIONS = _words(
    """
    inc ltd llc gmbh corp corporation company co plc ag group bank university college school
    institute academy hospital clinic foundation association society club team union council
    committee ministry department agency church museum library league party press times news
    studio studios records labs airlines hotel
    """
)

NO_NAMES = _words(
    """
    明白 小心 高兴 老师 阿姨 小朋友 小时候 小伙伴 安静 安全 成功 文静 和平 于是
    金色 白色 黄色 小熊 小猫 小狗 小鸟 小孩 小盒子 小手 小鱼 小时 小偷 小说 小吃
    小区 明明 老虎 老鼠 老板 老家 老人 叶子 胡同 马拉松 马上 黄金 黄瓜 黄昏 白天
    石头 石榴 雷雨 方法 方便 周末 周年 江湖 高山 高中 高级 金牌 金鱼 金属 毛巾
    毛衣 马路 马虎 龙虾 熊猫 花生 余额 程序 程度 许多 常常 任务 任何 祝福 日志
    美丽 黑洞 天堂 天空 大海 阳光 东西 英雄 长跑 赞美 美德 霸王龙 芝士 全班同学
    同班同学 海洋生物 谢谢 胡萝卜 白开水 金黄 姜黄 夏令营 叶绿素 温暖 温柔 温度 高温
    石油 金融 金钱 钱包 马桶 白菜 黄油 夏天 冬天 秋天 春天 万一 万分 方向 方案
    成绩 成长 成员 江山 沙发 包子 花园 路上 平安 安心 平时 田野 孔雀 龙舟
    """
)
"""What the Chinese tagger takes for names of persons and is none."""

SURNAMES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗高郑梁谢宋唐许韩冯邓曹彭曾肖田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈钟"
    "姜崔谭陆范汪廖石金韦贾夏付方邹熊白孟秦邱侯江尹薛闫雷龙黎史陶贺毛郝顾龚邵万覃武钱戴莫孔向汤"
)
"""The commonest Chinese surnames of one character."""

COMPOUND_SURNAMES = (
    "欧阳",
    "司马",
    "上官",
    "诸葛",
    "东方",
    "皇甫",
    "尉迟",
    "公孙",
    "慕容",
    "令狐",
    "夏侯",
    "司徒",
)

CHINESE_TITLES = (
    *(
        "医生",
        "老师",
        "教授",
        "律师",
        "经理",
        "先生",
        "女士",
        "小姐",
        "阿姨",
        "叔叔",
        "大爷",
        "大妈",
    ),
    *("奶奶", "爷爷", "师傅", "同学", "警官", "主任", "院长", "校长", "护士", "博士", "大夫"),
)
"""What may stand after a surname in place of the given name."""
