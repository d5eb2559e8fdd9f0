"""Given names and what pronoun they take: plain data and one look-up.

For telling whom `she` may mean, nothing more: names that go either way are in neither list.
"""

from __future__ import annotations

import re

from memstrata.text.analyse import fold

__all__ = ["FEMALE", "MALE", "gender_of", "is_given_name"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FEMALE = _words(
    """
    abigail ada adele agnes aisha alexandra alice alicia alina alison allison amanda amelia
    amina amy ana anastasia andrea angela angelina anita anja ann anna annabel anne annette
    annie antonia anya aria ashley astrid audrey aurora ava barbara beatrice beatriz becky bella
    bernadette beth bethany betty bianca bonnie brenda bridget brigitte brooke caitlin camila
    camille candice carla carmen carol carolina caroline carolyn carrie catherine cathy cecilia
    celia celine charlotte chiara chloe christina christine cindy claire clara claudia colleen
    connie constance cora cristina cynthia daisy daniela danielle daphne deborah debbie deirdre
    delia denise diana diane dolores donna dora doris dorothy edith eileen elaine elena eleanor
    elisa elisabeth eliza elizabeth ella ellen eloise elsa elsie emilia emily emma erica erika
    erin esther eva eve evelyn fatima felicity fiona flora florence frances francesca freya
    frieda gabriela gabriella gabrielle gail gemma georgia geraldine gertrude gina giulia gloria
    greta gretchen gwen hanna hannah harriet hazel heather heidi helen helena helga hilary hilda
    holly ida ilse imogen ines inga ingrid irene irina iris irma isabel isabella isabelle isla
    ivana jacqueline jana jane janet janice jasmine jeanne jenna jennifer jenny jessica jill
    joan joanna joanne johanna josephine joyce juanita judith judy julia juliana julie juliet
    june karen karin karina kate katherine kathleen kathryn kathy katie katrina katya kayla
    kelly kirsten kristen kristin kristina lara larissa laura lauren leah leila lena leticia
    lila lillian lily linda lisa liz lola lorena loretta lorraine louisa louise lucia lucy luisa
    lydia mabel madeleine madison magdalena maggie maja mandy manuela margaret margarita margot
    maria mariana marianne marie marilyn marina marisa marjorie marta martha martina mary
    matilda maureen maya megan mei melanie melinda melissa mercedes mia michelle milena mina
    mindy mira miranda miriam moira molly mona monica monika nadia nadine nancy naomi natalia
    natalie natasha nathalie nell nicole nina nora norma odette olga olivia ophelia paige pam
    pamela patricia patty paula pauline penelope penny petra phoebe phyllis pilar polly
    priscilla priya rachel ramona rebecca renata rhoda rita roberta rosa rosalind rosie roxanne
    ruth sabine sabrina sally samantha sandra sara sarah selena serena shannon sharon sheila
    shirley sigrid silvia simone sofia sofie sonia sonja sophia sophie stacy stella stephanie
    sue susan susanna susie suzanne svetlana sybil sylvia tabitha tamara tania tanya tatiana
    teresa tess tessa theresa tiffany tina tracy trudy ulrike una ursula valentina valeria
    valerie vanessa vera veronica victoria viola violet virginia vivian wanda wendy wilma
    winifred xenia yasmin yolanda yuki yvette yvonne zara zoe zofia
    """
)
MALE = _words(
    """
    aaron abdul abel abraham adam adrian ahmed aidan alan albert alberto aldo alejandro
    alessandro alexander alexandre alfonso alfred ali allen alonso alvaro ambrose amir anders
    andre andreas andrei andrew andy angus anthony anton antonio arjun arnold arthur arturo
    austin axel barry bartholomew bart basil ben benedict benjamin bernard bernie bill billy
    bjorn bob bobby boris brad bradley brandon brendan brent brett brian bruce bruno bryan byron
    caleb calvin carl carlo carlos cedric cesar chad charles charlie chris christian christoph
    christopher clarence clark claude clement clifford clive cody colin conrad connor corey
    craig curtis cyril dan daniel danny dario darren dave david dean declan dennis derek desmond
    diego dieter dimitri dirk dmitri dominic don donald douglas duncan dustin dwight earl ed
    eddie edgar edmund eduardo edward edwin eli elias elijah elliot emil emilio emmanuel enrique
    enzo eric erik ernest ernesto ethan eugene evan fabian fabio federico felipe felix ferdinand
    fernando filip finn florian francesco francis francisco franco frank franz fred freddie
    frederick fritz gabriel gareth gary gavin geoff geoffrey george gerald gerard gilbert
    giovanni giuseppe glen glenn gordon graham greg gregor gregory guido guillermo gunther
    gustav guy hamza hans harald harold harrison harry harvey hassan hector heinrich helmut
    henri henrik henry herbert herman homer horace howard hugh hugo humphrey ian ibrahim ignacio
    igor ilya isaac isaiah ivan jack jacob jacques jaime jake jakob jakub jamal james jan jared
    jason javier jean jeff jeffrey jens jeremy jerome jerry jesus jim jimmy joachim joaquin joel
    joe joey johan johann johannes john johnny jon jonas jonathan jorge jose josef joseph josh
    joshua juan julian julio jurgen justin karim karl keith ken kenneth kenny kevin kofi konrad
    kurt kyle lance larry lars laurence lawrence leo leon leonard leonardo leroy lewis liam
    lionel lloyd lorenzo louis luca lucas luigi luis lukas luke magnus malcolm manuel marc
    marcel marco marcos marcus mario mark marko marshall martin marvin mateo mateus matt matteo
    matthew matthias maurice mauricio max maxwell mehmet melvin michael miguel mike mikhail
    milan miles milo mitchell mohamed mohammed muhammad murray nate nathan nathaniel ned neil
    nelson nicholas nick nicolas nigel nikolai noah noel norman oleg oliver olivier omar oscar
    oswald otto owen pablo paolo patrick paul pavel pedro percy peter phil philip philippe
    pierre piotr preston quentin rafael rahul raj ralph ramon randall randy raphael raul ray
    raymond reginald reinhard ricardo richard rick rob robert roberto rodrigo roger roland rolf
    roman ron ronald rory roy ruben rudolf rupert russell ryan samuel santiago scott sean
    sebastian serge sergei sergio seth shane sidney simon soren spencer stan stanley stefan
    stephen steve steven stewart stuart sven ted terence theo theodore thomas tim timothy tobias
    todd tom tomas tommy tony travis trevor tristan tyler ulrich umberto vernon victor viktor
    vincent vladimir walter warren wayne werner wesley wilfred wilhelm william winston wolfgang
    xavier yusuf zachary
    """
)
_ALSO_WORDS = _words(
    """
    ali amber angus art aria axel basil bill carol chad daisy dale dean don drew earl flora
    frank grace grant guy hazel heather holly hope iris ivy jack jade jan jean joy june lance
    lily mark matt max may mercedes mia miles milan mina nick norm olive pat patty paige pam
    penny pearl poppy ray rich rob robin roman rose sandy sean serge stew stella sue una viola
    violet virginia wade ward will florence victoria georgia madison austin homer florian guido
    aurora charlotte candice chiara
    """
)
"""Names that are words or places too: small letters do not make them names."""
_FEMALE_HAN = frozenset(
    "娜丽芳婷娟燕玲红梅霞艳秀英兰凤洁琳颖雪莉倩媛媚嫣妍娇婉萍莹蓉薇莲菊妮姗娥花香美静慧淑珍萱瑶琪怡蕾璐妹姐"
)
_MALE_HAN = frozenset("伟强军勇刚磊涛超鹏杰飞波辉建峰龙斌武志俊浩轩豪雄毅亮健胜刚钢虎彪哥弟")
_TITLES = {
    "f": re.compile(
        r"(?:mrs|ms|miss|madam|mme|frau|aunt|auntie)\b|\w+(?:女士|小姐|阿姨|奶奶|大妈)$"
    ),
    "m": re.compile(r"(?:mr|sir|herr|uncle)\b|\w+(?:先生|叔叔|爷爷|大爷)$"),
}


def is_given_name(word: str) -> bool:
    """Whether a word, in any letters, is a given name and hardly anything else."""
    folded = fold(word)
    return (folded in FEMALE or folded in MALE) and folded not in _ALSO_WORDS


def gender_of(name: str) -> str:
    """`f`, `m` or, where the name does not tell, nothing."""
    folded = fold(name[:200]).strip()
    for gender, title in _TITLES.items():
        if title.match(folded):
            return gender
    first = folded.split()[0] if folded else ""
    if first in FEMALE or first in MALE:
        return "f" if first in FEMALE else "m"
    if 2 <= len(folded) <= 4 and "\u4e00" <= folded[-1] <= "\u9fff":
        return "f" if folded[-1] in _FEMALE_HAN else "m" if folded[-1] in _MALE_HAN else ""
    return ""
