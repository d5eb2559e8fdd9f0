"""Words of a kind and what is of it: where a question asks for instruments, the piano counts.

Plain data from general knowledge, lower case, English and Chinese; a line is
`word of the kind, …: instance, …`. Questions alone are widened by them; what is stored is not.
Instances of several words are left out: a single word of theirs would match too much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["TYPE_WORDS"]

_ENGLISH = """
instrument: guitar piano violin drums flute cello clarinet saxophone trumpet ukulele keyboard
instrument: bass harp banjo trombone harmonica viola oboe accordion
pet animal: dog cat rabbit hamster parrot turtle fish snake horse bird lizard ferret guinea
pet animal: goldfish tortoise gecko kitten puppy
hobby activity pastime leisure: paint hike camp swim run read cook bake garden knit pottery
hobby activity pastime leisure: dance photography yoga chess fish draw sew cycle climb surf ski
hobby activity pastime leisure: write sing craft
outdoors: hike camp climb kayak fish trail mountain lake forest park picnic
sport: soccer football basketball tennis baseball hockey golf volleyball rugby swim run
sport: badminton cricket boxing surf ski skate yoga gym marathon karate judo cycling
exercise workout fitness: gym yoga run jog swim weights pilates treadmill cardio lift stretch
exercise workout fitness: squat marathon
food dish meal cuisine: pizza pasta sushi salad soup curry rice chicken burger sandwich taco
food dish meal cuisine: noodle steak bread cheese lasagna salmon ramen dumpling stew
dessert sweet treat: cake cookie pie brownie chocolate icecream cream tart pudding muffin
dessert sweet treat: cupcake pastry donut cheesecake
drink beverage: coffee tea beer wine juice soda cocktail water smoothie whiskey latte lemonade
fruit: apple banana orange strawberry mango grape peach pear cherry blueberry melon pineapple
fruit: lemon
vegetable: carrot tomato potato onion broccoli spinach cucumber lettuce pepper cabbage kale
ingredient: flour sugar butter egg milk salt garlic onion oil cheese cream vanilla chocolate
country: usa america canada mexico england france germany italy spain portugal japan china india
country: korea australia brazil sweden norway ireland scotland greece turkey thailand vietnam
country: egypt switzerland netherlands
city town: paris london tokyo rome barcelona berlin boston seattle chicago york toronto sydney
city town: dublin madrid amsterdam beijing shanghai
state: california texas florida oregon washington colorado michigan ohio georgia nevada arizona
state: minnesota hawaii
place location destination: beach park museum mountain lake cafe restaurant forest city country
place location destination: island store library theater
art artwork: paint painting sculpture drawing pottery sketch mural portrait photography ceramic
art artwork: watercolor canvas
book: novel read author series memoir biography chapter story
movie: watch cinema director actor sequel thriller comedy trilogy
game: chess zelda mario xbox playstation nintendo poker monopoly scrabble console puzzle
music: song band album concert guitar piano sing singer jazz rock
musician artist band: singer concert album song perform
family relative: mother father sister brother son daughter husband wife aunt uncle cousin
family relative: grandma grandpa niece nephew parent child
child: son daughter baby toddler
parent: mother father
sibling: sister brother twin
partner spouse: husband wife boyfriend girlfriend fiance
job career profession occupation work: teacher nurse doctor engineer lawyer designer manager
job career profession occupation work: chef writer counselor developer accountant artist
job career profession occupation work: therapist consultant
vehicle transport transportation: car bike truck bus train motorcycle van boat scooter plane suv
vehicle transport transportation: prius
car: toyota honda ford tesla bmw audi prius suv sedan mustang
feeling emotion mood: happy sad angry excited proud nervous grateful stress anxious thankful
feeling emotion mood: scared lonely relieved joy
health medical illness condition: pain asthma allergy diabetes surgery doctor hospital injury
health medical illness condition: flu headache migraine arthritis anxiety weight
injury: broke sprain ankle knee wrist fracture hurt
allergy: allergic peanut pollen gluten dairy shellfish fur
festival holiday celebration: christmas thanksgiving easter halloween diwali birthday hanukkah eid
gift present: necklace ring book watch flower card scarf mug
jewelry accessory: necklace ring bracelet earring watch pendant scarf
clothes clothing outfit: dress shirt shoe jacket jeans sweater hat coat boot sneaker skirt suit
shoe footwear: boot sneaker sandal heel
furniture: sofa couch table chair bed desk bookshelf dresser mattress lamp
appliance: oven fridge blender toaster dishwasher microwave washer fryer
device gadget electronics: phone laptop tablet camera headphones computer watch kindle ipad
flower plant: rose tulip lily orchid sunflower daisy succulent fern basil lavender
color: red blue green yellow purple orange pink black white
season: summer winter spring autumn fall
weather: rain sun snow storm wind cloud cold hot
degree education study school: university college graduate psychology business engineering
degree education study school: course certificate master class student
subject: math history science english biology physics chemistry art
language: english spanish french german chinese japanese italian korean portuguese
religion faith: church christian muslim buddhist jewish temple pray bible
community charity volunteer cause: shelter homeless donate fundraiser mentor foodbank lgbtq youth
goal plan dream: want hope wish start open save become
support: encourage help friend family listen
nature: forest mountain lake ocean sunset beach waterfall trail
event: concert party wedding conference parade festival workshop meeting exhibition race show
competition contest tournament: win compete prize trophy place race
award prize: win trophy medal certificate
class course workshop: pottery yoga cooking dance learn sign instructor
business company startup: store studio shop launch customer client brand
social: facebook instagram twitter tiktok youtube
dance: ballet hiphop salsa tango contemporary ballroom
creative craft: paint pottery write draw sew knit sculpture
camera photo: lens tripod canon nikon sony
store shop: walmart target costco amazon ikea
insect: bee ant butterfly spider mosquito
relax destress unwind: bath read yoga walk meditate music
trip travel vacation: flight hotel road beach tour visit airport cruise
accommodation: hotel hostel airbnb cabin resort tent
tradition: christmas thanksgiving holiday annual dinner
symbol meaning: represent remind mean freedom love
identity gender: transgender gay woman lesbian nonbinary queer
"""

_CHINESE = """
乐器: 钢琴 吉他 小提琴 古筝 二胡 琵琶 笛子 架子鼓 大提琴 萨克斯 口琴
宠物 动物: 狗 猫 兔子 仓鼠 鹦鹉 金鱼 乌龟 小狗 小猫 狗狗 猫咪
爱好 兴趣 活动: 画画 跑步 游泳 唱歌 跳舞 读书 看书 爬山 摄影 钓鱼 下棋 书法 瑜伽 旅游 打球 种花
爱好 兴趣 活动: 做饭
运动 体育 锻炼 健身: 跑步 游泳 篮球 足球 羽毛球 乒乓球 网球 瑜伽 爬山 骑车 滑雪 排球 散步 太极
食物 美食 吃 菜: 饺子 面条 米饭 火锅 烧烤 包子 红烧肉 蛋糕 月饼 粽子 烤鸭 寿司 披萨 汤圆
甜点 甜品: 蛋糕 饼干 冰淇淋 巧克力 布丁 糖
饮料 喝: 咖啡 奶茶 啤酒 茶 果汁 白酒 牛奶 豆浆
水果: 苹果 香蕉 西瓜 草莓 葡萄 橙子 桃子 芒果 梨
国家: 中国 美国 日本 韩国 英国 法国 德国 泰国 意大利 加拿大 澳大利亚
城市: 北京 上海 广州 深圳 杭州 成都 西安 南京 武汉 重庆 苏州
家人 家庭 亲人 亲戚: 爸爸 妈妈 父亲 母亲 爷爷 奶奶 外婆 外公 哥哥 姐姐 弟弟 妹妹 儿子 女儿 丈夫
家人 家庭 亲人 亲戚: 妻子 老公 老婆
孩子: 儿子 女儿 宝宝 小孩
工作 职业: 老师 医生 护士 工程师 律师 公司 同事 老板 加班 上班 面试 经理 程序员
心情 情绪 感受: 开心 难过 生气 高兴 伤心 紧张 焦虑 害怕 失望 激动 孤独 压力 委屈
健康 身体 病: 感冒 发烧 医院 手术 头疼 过敏 失眠 咳嗽 糖尿病 高血压 住院 骨折
节日: 春节 中秋节 端午节 国庆节 生日 圣诞节 元宵节 情人节 清明节 过年
礼物: 手表 项链 鲜花 戒指 围巾 贺卡 玩具
交通工具 车: 汽车 火车 飞机 自行车 地铁 公交 高铁 摩托车
学校 学习 教育: 大学 高中 考试 老师 同学 成绩 论文 毕业 课程 作业 高考
比赛: 冠军 获奖 输 赢 奖杯 决赛
旅行 旅游: 机票 酒店 景点 海边 爬山 机场 风景
音乐: 唱歌 歌曲 演唱会 钢琴 吉他
电影: 电影院 导演 演员 喜剧
衣服: 裙子 衬衫 外套 裤子 毛衣 鞋
朋友: 同学 闺蜜 同事 室友
恋爱 感情: 男友 女友 分手 约会 表白 男朋友 女朋友 结婚
"""


def _read(*tables: str) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for line in "".join(tables).strip().splitlines():
        kinds, _, instances = line.partition(":")
        for kind in kinds.split():
            found.setdefault(kind, []).extend(instances.split())
    return found


TYPE_WORDS: Mapping[str, Sequence[str]] = _read(_ENGLISH, _CHINESE)
"""By the word of a kind, what is of it."""
