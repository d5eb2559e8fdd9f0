"""Words for somebody's relations, English and Chinese: plain data."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HAN_KIN", "KIN_WORDS", "Kin"]


class Kin(NamedTuple):
    """A word for somebody's relation to somebody."""

    attribute: str
    gender: str
    """`f`, `m` or empty."""


def _kin(rows: str) -> dict[str, Kin]:
    table: dict[str, Kin] = {}
    for line in rows.strip().splitlines():
        attribute, gender, *words = line.split()
        for word in words:
            table[word.replace("_", " ")] = Kin(attribute, gender.strip("-"))
    return table


KIN_WORDS = _kin(
    """
    mother f mother mom mum mommy mummy mama
    father m father dad daddy papa
    sister f sister sis
    brother m brother bro
    sibling - sibling twin
    wife f wife
    husband m husband hubby
    partner - partner spouse
    fiance f fiancée
    fiance - fiance fiancé fiancee
    girlfriend f girlfriend
    boyfriend m boyfriend
    ex - ex ex-wife ex-husband ex-boyfriend ex-girlfriend
    son m son
    daughter f daughter
    child - child kid baby toddler
    cousin - cousin
    aunt f aunt auntie
    uncle m uncle
    niece f niece
    nephew m nephew
    grandmother f grandmother grandma granny nana
    grandfather m grandfather grandpa granddad
    grandchild f granddaughter
    grandchild m grandson
    parent_in_law f mother-in-law
    parent_in_law m father-in-law
    sibling_in_law f sister-in-law
    sibling_in_law m brother-in-law
    stepparent f stepmother stepmom
    stepparent m stepfather stepdad
    friend - friend bestie buddy pal bff
    roommate - roommate flatmate housemate
    boss - boss manager supervisor
    colleague - colleague coworker co-worker workmate teammate
    neighbour - neighbor neighbour
    teacher - teacher professor tutor instructor
    student - student
    classmate - classmate
    coach - coach trainer
    mentor - mentor
    doctor - doctor gp dentist
    therapist - therapist counselor counsellor
    pet - dog cat puppy kitten pup parrot hamster rabbit horse tortoise turtle bunny pet
    """
)
HAN_KIN = _kin(
    """
    mother f 妈妈 母亲 老妈 我妈
    father m 爸爸 父亲 老爸
    sister f 姐姐 妹妹 大姐 二姐 小妹 姐 妹
    brother m 哥哥 弟弟 大哥 二哥 小弟 哥 弟
    wife f 妻子 老婆 太太 爱人 媳妇
    husband m 丈夫 老公 先生
    fiance f 未婚妻
    fiance m 未婚夫
    girlfriend f 女朋友 女友
    boyfriend m 男朋友 男友
    son m 儿子 大儿子 小儿子
    daughter f 女儿 闺女 大女儿 小女儿
    child - 孩子 小孩 宝宝
    cousin f 表姐 表妹 堂姐 堂妹
    cousin m 表哥 表弟 堂哥 堂弟
    aunt f 姑姑 姨妈 阿姨 舅妈 婶婶 小姨 姑妈 大姨
    uncle m 叔叔 舅舅 伯伯 姑父 姨父
    niece f 侄女 外甥女
    nephew m 侄子 外甥
    grandmother f 奶奶 外婆 姥姥 祖母
    grandfather m 爷爷 外公 姥爷 祖父
    grandchild f 孙女 外孙女
    grandchild m 孙子 外孙
    parent_in_law f 婆婆 岳母 丈母娘
    parent_in_law m 公公 岳父
    sibling_in_law f 嫂子 弟妹
    sibling_in_law m 姐夫 妹夫
    partner - 对象 伴侣 另一半
    friend - 朋友 好朋友 好友 闺蜜 哥们 死党 最好的朋友
    roommate - 室友 舍友
    boss - 老板 上司 领导 经理 主管
    colleague - 同事
    neighbour - 邻居
    teacher - 老师 班主任
    student - 学生
    classmate - 同学 同桌
    coach - 教练
    mentor - 导师
    doctor - 医生 主治医生 牙医
    therapist - 心理医生 心理咨询师
    pet - 狗 猫 小狗 小猫 猫咪 狗狗
    """
)
