"""Word lists of the analyser: irregular forms, chat synonyms, numbers, words a question can spare.

Plain data, lower case, English and Chinese. A word belongs in a list of stop words only if a
question loses nothing by it: they are dropped from questions, never from what is stored, and a
question made of nothing else keeps them.
"""

from __future__ import annotations

__all__ = [
    "ASKING_WORDS",
    "CLITICS",
    "HAN_STOP_WORDS",
    "IRREGULAR",
    "NUMBER_WORDS",
    "STOP_WORDS",
    "SYNONYMS",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _forms(text: str) -> dict[str, str]:
    """Read lines of `base: form form …` as a map from each form to its base."""
    table: dict[str, str] = {}
    for line in text.strip().splitlines():
        base, _, forms = line.partition(":")
        table.update(dict.fromkeys(forms.split(), base.strip()))
    return table


STOP_WORDS = _words(
    """
    a an the this that these those such same other another any some each every both either neither
    all no not nor only own so too very just even also still yet again ever never once quite rather
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves one ones someone
    somebody something anyone anybody anything everyone everybody everything nobody nothing
    am is are was were be been being do does did doing done have has had having will would shall
    should can could might must ought need
    and but or if because as until while of at by for with about against between into through
    during before after above below to from up down in out on off over under than then here there
    s t im ive youre thats whats wheres whos hows dont doesnt didnt isnt wasnt cant wont
    via per upon within without toward towards among amongst across along around
    who whom whose what which when where why how whether
    """
)
"""Function words, pronouns, auxiliaries, question words."""

ASKING_WORDS = _words(
    """
    mention mentions mentioned mentioning describe describes described describing say says said
    saying tell tells told telling talk talks talked talking discuss discussed ask asks asked
    explain explained remind remember recall know knows knew known according think thinks thought
    wonder wondering chat chats conversation conversations previous previously
    kind kinds type types sort sorts way ways thing things stuff item items example examples
    activity activities event events
    specific specifically particular particularly certain various different related
    many much long often several few lot lots more most number amount total order
    get gets got getting go goes going make makes made use used using happen happens happened
    currently recent recently past ago
    list name names please
    """
)
"""What a question says about itself, or about any answer, more than about its own: half weight."""

CLITICS = _forms(
    """
    can: can't cannot
    will: won't
    shall: shan't
    let: let's
    them: 'em
    """
)

IRREGULAR = _forms(
    """
    be: am is are was were been being
    go: goes went gone
    do: does did done
    have: has had
    get: got gotten
    make: made
    take: took taken
    come: came
    see: saw seen
    know: knew known
    think: thought
    give: gave given
    find: found
    tell: told
    become: became
    leave: left
    feel: felt
    put: puts
    bring: brought
    begin: began begun
    keep: kept
    hold: held
    write: wrote written
    stand: stood
    hear: heard
    let: lets
    mean: meant
    meet: met
    run: ran
    pay: paid
    sit: sat
    speak: spoke spoken
    lie: lay lain
    lead: led
    grow: grew grown
    lose: lost
    fall: fell fallen
    send: sent
    build: built
    understand: understood
    draw: drew drawn
    break: broke broken
    spend: spent
    rise: rose risen
    drive: drove driven
    buy: bought
    wear: wore worn
    choose: chose chosen
    eat: ate eaten
    sing: sang sung
    sleep: slept
    swim: swam swum
    teach: taught
    catch: caught
    fight: fought
    fly: flew flown
    forget: forgot forgotten
    ride: rode ridden
    sell: sold
    shoot: shot
    steal: stole stolen
    throw: threw thrown
    win: won
    wake: woke woken
    drink: drank drunk
    hide: hid hidden
    blow: blew blown
    bend: bent
    bite: bit bitten
    feed: fed
    freeze: froze frozen
    hang: hung
    lend: lent
    light: lit
    ring: rang rung
    seek: sought
    shake: shook shaken
    shine: shone
    stick: stuck
    strike: struck
    swear: swore sworn
    sweep: swept
    swing: swung
    tear: tore torn
    weep: wept
    dig: dug
    deal: dealt
    dream: dreamt
    learn: learnt
    burn: burnt
    say: said
    child: children
    person: people persons
    man: men
    woman: women
    foot: feet
    tooth: teeth
    mouse: mice
    goose: geese
    wife: wives
    knife: knives
    half: halves
    shelf: shelves
    wolf: wolves
    good: better best
    bad: worse worst
    """
)

SYNONYMS = _forms(
    """
    mother: mom mum mommy mummy mama
    father: dad daddy papa
    grandmother: grandma granny nana
    grandfather: grandpa granddad
    child: kid kiddo
    photo: photograph photography pic picture image snapshot selfie
    television: tv telly
    telephone: phone cellphone smartphone
    bicycle: bike
    refrigerator: fridge
    university: uni
    laboratory: lab
    veterinarian: vet
    advertisement: ad advert
    film: movie
    store: shop
    favorite: favourite fave fav
    dog: puppy pup doggy
    cat: kitten kitty
    job: gig
    email: e-mail
    wifi: wi-fi
    tshirt: t-shirt
    vacation: holiday
    birthday: bday
    info: information
    okay: ok
    color: colour
    """
)
"""Two words of one thing in everyday chat; the same term for both, in text and question alike."""

NUMBER_WORDS = _forms(
    """
    1: one
    2: two
    3: three
    4: four
    5: five
    6: six
    7: seven
    8: eight
    9: nine
    10: ten
    11: eleven
    12: twelve
    13: thirteen
    14: fourteen
    15: fifteen
    16: sixteen
    17: seventeen
    18: eighteen
    19: nineteen
    20: twenty
    30: thirty
    40: forty
    50: fifty
    60: sixty
    70: seventy
    80: eighty
    90: ninety
    100: hundred
    1000: thousand
    """
)

HAN_STOP_WORDS = _words(
    """
    的 了 着 过 地 得 吗 呢 吧 啊 呀 哦 嗯 嘛 啦 哈 喔 哎 唉 么 之 所 者 其
    我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们 自己 大家 人家 别人
    是 在 有 和 与 跟 同 或 及 而 但 但是 因为 所以 如果 虽然 然后 还是 或者 以及 并且
    就 都 也 还 又 再 才 只 很 太 更 最 非常 真 真的 挺 好 不 没 没有 别 把 被 让 给 对 向 从 到
    为 为了 以 于 这 那 这个 那个 这些 那些 这里 那里 这样 那样 这么 那么 一个 一些 一下 一 个 些
    会 能 可以 可能 应该 要 想 得到 需要
    什么 哪 哪里 哪儿 哪个 哪些 谁 怎么 怎样 怎么样 如何 为什么 为何 多少 几 几个 何 何时
    什么样 什么时候 时候 是否 是不是 有没有 请 请问 告诉 说 说过 提到 提过 记得 知道 描述 觉得
    种类 类型 种 东西 事情 事 叫 叫做
    """
)
"""Particles, pronouns, function words, question words and words of asking, as segmented."""
