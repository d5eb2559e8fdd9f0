"""The phrases small talk is made of: plain data.

English rows are words in order: `a|b` one of them, `a?` (of the whole place) or nothing, `_` for
the space inside a place, `<nice>` any word of praise; a place may go on after a `|` on the next
line. Chinese phrases stand alone, apart by spaces.
"""

from __future__ import annotations

__all__ = ["ASSENT", "GREETING", "HAN_ASSENT", "HAN_SMALL_TALK", "NICE", "SMALL_TALK"]

NICE = """
    cool|great|nice|good|awesome|amazing|fine|lovely|sweet|neat|funny|fun|hilarious|cute|
      fantastic|wonderful|excellent|perfect|brilliant|interesting|helpful|useful|impressive|kind|
      true|ok|okay|bad|sad|glad
"""

ASSENT = """
    yes|yeah|yep|yup|yea|ya|ok|okay|okey|k|kk|alright|aight|sure|surely|please|definitely
    absolutely|totally|certainly|exactly|indeed|correct|right|true|agreed|gladly
    yes|yeah|ok|okay|sure please|sure|thing|do|exactly|definitely|absolutely
    of_course|sure_thing|go_ahead|go_for_it|please_do|do_it|do_so|by_all_means|for_sure|why_not
    sounds|sound good|great|fine|perfect
    that|it would|will be? great|good|nice|lovely|helpful|perfect|fine
    that'd|it'd be great|good|nice|lovely|helpful|perfect|fine
    that's|thats|that_is right|correct|it|true|the_one
    i'd|id love|like that|to
"""
"""What takes up an offer or a question."""

GREETING = """
    hi|hey|hello|hiya|hullo|yo|howdy|greetings|hola|bonjour|hallo|ciao|salut|namaste there?
    hi|hey|hello|yo again|everyone|everybody|all|guys|folks|buddy|friend|dear|you|team
    oh? hey|hi|hello
    well hello|hi there?
    good|gud morning|afternoon|evening|day to_you|everyone|all|again|there?
    morning|mornin|gm|evening everyone|all?
    good|gud night|nite everyone|all|now?
    night|gn|goodnight|nighty_night|nighty
    bye|byebye|goodbye|cya|ttyl|ciao|adios|cheerio|farewell now|bye|everyone|all|guys?
    bye bye|for_now
    thanks|thank_you|thx|thnx|ty|tysm|tnx|cheers|gracias|merci|danke|grazie|obrigado
    thanks|thank_you|thx a_lot|so_much|very_much|a_bunch|a_million|a_ton|again|anyway|loads|heaps|
      tons
    many|much thanks|obliged|appreciated
    no|nope thanks|thank_you
    welcome back?
    congrats|congratulations
"""
"""After which a name is who is spoken to."""

SMALL_TALK = """
    so|well|oh|ah|aha|hm|hmm|hmmm|mm|mhm|mmhm|uh|um|huh|and|but|anyway|anyways
    wow|whoa|woah|woo|woohoo|yay|omg|omfg|gosh|jeez|phew|oops|ouch|aw|aww|ooh|yikes|damn|ha|heh|
      lmao|rofl|lmfao|xd
    no|nope|nah|no_way|not_really|not_now|not_yet|no_no|maybe|perhaps|dunno|idk|i_don't_know|
      whatever
    so|very|really|pretty|too|super|quite? <nice>
    that|it|this|which is|was|sounds|seems|looks so|very|really|pretty|too|super|just|all? <nice>
    that's|thats|it's|its|this's so|very|really|pretty|too|super|just|all? <nice>
    that's|thats|that_is|it's for_now|all|all_for_now|all_for_today|enough|enough_for_now|
      it_for_now|it_for_today
    how nice|lovely|cool|funny|sweet|kind|kind_of_you|nice_of_you|exciting|interesting|sad
    what a day|relief|shame|pity|surprise
    so|very kind|nice|sweet of_you
    nice|good|great one|job|work|point|idea|stuff|answer|call|to_know|to_hear|to_see_you|
      to_meet_you
    well done|said
    good|great|nice|pleased to see|meet|hear_from you again|too?
    it|that really|actually|finally? worked|works|helped|helps now|great|well|perfectly|fine|
      like_a_charm|a_lot|so_much|out|for_me?
    worked|works|helps|helped now|great|well|perfectly|fine|like_a_charm|a_lot?
    that did it|the_trick
    got|gotcha|gotit it?
    i see|understand|agree|know|get_it|got_it|got_you|hear_you|guess|guess_so|think_so|hope_so|
      suppose|suppose_so|believe_so now|too?
    understood|noted|makes_sense|that_makes_sense|fair|fair_enough|roger|copy_that|will_do|deal|
      done
    never|nevermind mind?
    no|not a? problem|worries|prob|biggie
    it's|its|that's|thats all? ok|okay|alright|no_problem|nothing|fine
    you|you're|youre are? welcome|right|so_right|absolutely_right|the_best|great|awesome|amazing|
      so_kind|very_kind|funny|so_funny|sweet|so_sweet|too_kind
    ur the_best|welcome
    don't_mention_it|my_pleasure|anytime|any_time
    sorry|apologies|my_bad|my_mistake|excuse_me|pardon about_that?
    i'm|im|i_am so? sorry|back|here
    i'm|im|i_am doing|feeling? fine|good|great|well|ok|okay|alright thanks|thank_you|too?
    doing fine|good|great|well|ok|okay thanks|thank_you?
    not|pretty|very|all bad|good|well|great at_all|thanks?
    can't_complain|same_here|me_too|me_neither|likewise|same_to_you|you_too|and_you_too|
      you_as_well
    and|how_about|what_about? you|yourself
    how are|r|have you|u|ya|things|you_all|y'all doing|feeling|been|keeping|going? today|tonight|
      now|lately|these_days|this_morning|this_evening|this_afternoon|then|buddy|my_friend|
      recently?
    how is|was|has your day|morning|evening|afternoon|night|weekend|week going|been|so_far|
      going_so_far|been_so_far|today?
    how's|hows your day|morning|evening|afternoon|night|weekend|week going|been|so_far|
      going_so_far|been_so_far|today?
    how's|hows it|everything|life|things going|been|today?
    how is it|everything|life going|with_you|today
    how do_you_do|goes_it|you_doing|ya_doing
    did_you sleep_well|have_a_good_night|have_a_good_day
    what's|whats|wassup|sup|wazzup|what_is up today?
    wassup|sup|wazzup|whassup
    long_time_no_see|it's_been_a_while|it's_been_a_long_time|been_a_while
    are_you|you|anyone|anybody there|here|awake|online|around
    can_you hear|see me
    i missed|miss|like|love|adore|appreciate you|it|that|this so_much|very_much|too|a_lot?
    love it|that|this|you
    i really? appreciate it|that|your_help|the_help|all_your_help
    i'm|im|i_am so|very|really? glad|happy|grateful|thankful|impressed to_hear_that|to_hear_it|
      to_see_you|to_be_back|to_help?
    thanks|thank_you|thx|cheers so_much|a_lot|very_much|again? for your|the|all_your|all_the|this|
      that|all|everything help|info|information|answer|advice|tip|tips|explanation|reminder|
      support|time|patience|update|chat|suggestion|suggestions|recommendation|recommendations?
    thanks|thank_you|thx so_much|a_lot|again? for helping|asking|everything|that|this|listening|
      explaining|sharing|letting_me_know|reminding_me|checking me|out?
    thank_god|thank_goodness
    see|c|catch|cya you|ya|u later|soon|tomorrow|around|then|again|tonight|next_week|next_time|
      in_a_bit|monday|on_monday|there?
    talk|speak|chat to_you|with_you|to_ya? later|soon|tomorrow|again_soon|then
    until|till|later tomorrow|then|next_time|gator?
    i|i'll|ill|gotta|got_to|have_to|i_have_to|i_gotta|i've_got_to|need_to|i_need_to|i_must go|run|
      leave|sleep|go_to_bed|go_to_sleep|head_out|be_off now?
    i'm|im|i_am going|off|heading to_bed|to_sleep|now|out
    brb|afk|gtg|g2g|be_right_back|one_moment|one_sec|one_second|just_a_moment|just_a_sec|hold_on|
      wait|wait_a_second|give_me_a_second|give_me_a_minute|let_me_think
    have|enjoy a|your|the great|nice|good|lovely|wonderful|fun|pleasant|restful? day|evening|
      night|weekend|one|week|afternoon|time|trip|holiday|rest|morning too|everyone|all|ahead?
    you have|enjoy a|your great|nice|good|lovely? day|evening|night|weekend|one|week|too?
    sleep|rest well|tight
    sweet_dreams|take_care|stay_safe|be_well|all_the_best|best_wishes|good_luck|fingers_crossed
    happy new_year|holidays|easter|friday|monday|weekend|christmas|thanksgiving|halloween to_you|
      everyone|too?
    merry christmas|xmas to_you|everyone|too?
    really|seriously|no_kidding|you_don't_say|is_that_so|for_real
    let's go|do_it
    nothing|nothing_else|nothing_much|not_much|that_will_be_all|that'll_be_all|no_more_questions|
      i'm_done|we're_done|all_good|all_set|i'm_good|we're_good
"""

HAN_ASSENT = """
    好 好的 好呀 好啊 好吧 好嘞 好哒 好滴 好哦 好呢 好的呢 好的呀 好的好的 好好好 行 行吧 行啊
      可以 可以呀 可以啊 可以的
    要 要的 需要 请 请吧 麻烦你 麻烦您 麻烦你了 麻烦了 嗯 嗯嗯 恩 对 对对 对对对 对的 对呀 对啊
      对哦 是 是的 是啊 是呀 没错
    当然 当然了 当然啦 当然可以 当然好 当然要 没问题 沒問題 确实 的确 同意 就这样 就这么办
      那就这样 那好 那好吧 那行 想 想的 想啊 想呀
"""

HAN_SMALL_TALK = """
    你好 您好 你们好 大家好 妳好 哈喽 哈啰 哈罗 嗨 嘿 喂 在吗 你在吗 在不在 你在不在 在么 在嗎
      有人吗
    早 早安 早啊 早呀 早上好 上午好 中午好 下午好 晚上好 午安 晚安 晚上好啊 好久不见 好久不見
      很高兴认识你 很高兴见到你 见到你真高兴 又见面了 我回来了 我来了
    你好吗 您好吗 你好嗎 还好吗 你还好吗 近来可好 别来无恙
    怎么样啊今天 今天怎么样 你今天怎么样 你怎么样 最近怎么样 你最近怎么样 最近还好吗 你最近还好吗
      最近好吗 你最近好吗 最近如何 过得怎么样 你过得怎么样 最近过得怎么样 你最近过得怎么样
      今天过得怎么样 你今天过得怎么样 今天好吗 你今天好吗 今天心情怎么样 你今天心情怎么样
      心情怎么样 你心情怎么样 今天过得好吗 你今天过得好吗 昨晚睡得好吗 睡得好吗 昨晚睡得怎么样
      吃了吗 吃了没 你吃了吗 你吃饭了吗 吃饭了吗 吃过了吗 在干嘛 你在干嘛 在干什么 你在干什么
      你在做什么 忙吗 你忙吗
    谢谢 谢谢你 谢谢您 谢谢大家 谢啦 谢了 多谢 多谢你 多谢了 感谢 感谢你 感谢您 太感谢了
      太感谢你了 太谢谢你了 非常感谢 十分感谢 万分感谢 谢谢你的帮助 感谢你的帮助 谢谢你的建议
      谢谢帮忙 谢谢你帮我 谢谢提醒 谢谢你的提醒 谢谢夸奖 谢谢夸赞 谢谢鼓励 谢谢你的鼓励 谢谢关心
      谢谢你的关心 谢谢支持 谢谢你的支持 辛苦了 你辛苦了 辛苦啦 谢谢谢谢 謝謝 謝謝你 多謝 感謝
      三克油
    不客气 不用客气 别客气 不用谢 不谢 没事 没事的 没事儿 没关系 沒關係 不要紧 不要紧的 应该的
      小意思 哪里哪里
    知道了 我知道了 知道啦 我知道啦 明白 明白了 我明白了 懂了 我懂了 了解 了解了 收到 晓得了
      原来如此 原来是这样 这样啊 这样子啊 是这样啊 原来这样 有道理 说得对 说得好 说的对 你说得对
      你说的对 你说得没错 你说得有道理 我也这么觉得 我也这么想 我也觉得 我也是 我也是这么想的
      我同意 听起来不错 听起来很棒 听起来很好 听上去不错 好主意 这主意不错 这个主意不错
      这个主意真棒 真是个好主意
    太好了 太好啦 真好 真棒 太棒了 太棒啦 很棒 棒 好棒 好棒啊 真不错 不错 不错哦 不错不错 很好
      非常好 挺好 挺好的 还好 还行 还不错 还可以 完美 厉害 真厉害 太厉害了 好厉害 你真厉害
      你太厉害了 你真棒 你太棒了 你最好了 你真好 你太好了 你真聪明 牛 真牛 太牛了 绝了 赞 点赞 哇
      哇塞 哇哦 天哪 天啊 我的天 我的天哪 哎呀 哎 唉 哦 噢 喔 呃 额 啊 呀 哈 嘛 呢 吧 啦 太有趣了
      真有趣 有意思 真有意思 太有意思了 好有趣 好玩 真好玩 好可爱 真可爱 太可爱了 好开心 真开心
      太开心了 开心 好高兴 真高兴 太高兴了
    笑死 笑死我了 太好笑了 好好笑 真好笑 真逗 太逗了 笑哭
    再见 再見 拜拜 拜 掰掰 拜拜啦 明天见 明儿见 回见 回头见 下次见 下周见 待会见 待会儿见 一会儿见
      晚点见 改天见 到时候见 下次聊 下次再聊 回聊 改天聊 改天再聊 明天聊 明天再聊 晚点聊 回头聊
      先这样 先这样吧 那先这样 那先这样吧 就先这样 就到这里 今天就到这里 我走了 我先走了 我先下了
      下了 我去睡了 我去睡觉了 我睡了 我要睡了 我要睡觉了 睡了 去睡了 我该走了 我该睡了 我得走了
      我要走了 我去忙了 先忙了 我先忙了 你先忙 早点休息 早点睡 做个好梦 好梦 祝你好梦 好好休息
      保重 注意身体 多保重 一路顺风 一路平安 慢走
    祝你开心 祝你愉快 祝你今天愉快 祝你今天开心 祝你有美好的一天 祝你周末愉快 周末愉快 周末快乐
      新年快乐 新年好 春节快乐 元旦快乐 圣诞快乐 中秋快乐 端午安康 节日快乐 恭喜 恭喜恭喜 恭喜你
      恭喜发财 祝好 祝你好运 好运 加油 一起加油 我会加油的 我会努力的
    对不起 不好意思 抱歉 很抱歉 真抱歉 打扰了 打扰一下 我的错 是我的错 失礼了
    不 不是 不是的 不了 不用 不用了 不要 不要了 没有 没有了 没了 没别的了 没什么 没什么了 算了
      算啦 没 不知道 不清楚 随便 都行 都可以 无所谓 暂时没有 暂时不用 没有问题了 没问题了
    真的 真的吗 真的假的 是吗 是么 真的啊 真的呀 不会吧 不是吧 怎么会 可不是嘛 那是 那当然 那倒是
      也是 也对 我很好 我挺好的 我还好 我很好谢谢 我还不错 我没事 都挺好的 一切都好 老样子
      马马虎虎 你呢 您呢 那你呢 你也是 你也一样 彼此彼此
    解决了 问题解决了 搞定 搞定了 成功了 有用 很有用 有帮助 很有帮助 帮大忙了 你帮大忙了 太有用了
      学到了 受教了 可以了 弄好了
    等等 等一下 稍等 稍等一下 等一会 等我一下 让我想想 我想想 我想想看 我喜欢你 我爱你 爱你 爱你哟
      么么哒 抱抱 想你 我想你 想你了 我想你了 好想你 喜欢 我喜欢 我很喜欢 我好喜欢 太喜欢了
"""
