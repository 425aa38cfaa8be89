"""Sentences for the starter model: drawn from a small grammar, so that they belong to no one and to no test."""

from __future__ import annotations

import random

import halfseen as hs

# Words by their part of speech; a line that begins with blanks belongs to the one before it.
WORDS = """
NOUNS: apple author baby bag basket bath beach bird board boat book bottle box boy bridge brush bus butter
    button cake camera candle car card carpet castle chair cheese cherry chicken church city clock cloth cloud
    coach coat coffee coin corner cousin cow cup daughter desk doctor door dress driver earth engine engineer
    eye family farmer father feather fence film finger fire fish flag floor flower food foot forest friend
    fruit game garage garden gate gentleman ghost giant girl glass glove goat gold grandmother guest guitar
    hammer hand hat head heart hill hour house idea island jacket jar job journey judge juice key king knife
    lake lamp language leaf lemon letter lion machine magazine map market measure meadow medicine message milk
    mirror money month moon mouth museum music nail neighbour noise nose nurse oil onion orange oven owner
    page paper path peach pen pencil picture pig pillow pocket pool potato prize pupil queen question rabbit
    radio region river roof room rope rose sailor salad sandwich school scissors shadow sheep shirt shoe shop
    sister soap sofa soldier song soup spoon spring station stone storm street student sugar sun table teacher
    television theatre thumb thunder ticket tiger tooth towel town toy train treasure tree uncle umbrella
    valley vegetable vehicle village voice wall watch water weather wheel whistle wife wind winter wolf woman
    wood year yoghurt zebra zoo
VERBS: asked bought broke brought called carried caught chose cleaned closed counted covered described
    discovered drew enjoyed examined fed finished followed forgot found gave guarded hated heard hid joined
    judged kept kicked learned liked loved lost measured mentioned moved needed noticed ordered painted pushed
    pulled reached remembered saw shook showed sold stole taught thanked threw touched understood used visited
    washed watched wished wanted
ADJECTIVES: angry beautiful big bitter blue bright brown busy calm careful cheap clever cold curious dark deep
    different dirty double dry early easy empty famous fast fine foreign free fresh funny gentle golden good
    green grey happy healthy heavy high huge hungry juicy kind large lazy light little long loud lovely modern
    narrow new nice noisy old pale perfect pink plain pleasant poor proud purple quiet rare red rich rough
    round royal sad sharp short shy silver slow small smooth soft sour special square steady strange strong
    sweet tall thick thin third tiny ugly unusual usual warm weak wet white wide wild wise wooden yellow young
ADVERBS: again already always badly carefully early easily finally happily hardly here later never nearly
    often once outside perhaps quickly quietly rarely really seldom slowly sometimes soon still suddenly there
    today together tomorrow tonight twice usually yesterday
"""
SYMBOLS = {"NOUNS": "NOUN", "VERBS": "VERB", "ADJECTIVES": "ADJ", "ADVERBS": "LATELY"}  # of the grammar
GRAMMAR = """
S -> CLAUSE [0.5] | CLAUSE JOIN CLAUSE [0.2] | LATELY CLAUSE [0.2] | ASK [0.1]
CLAUSE -> NP VP [1.0]
NP -> DET NOUN [0.35] | DET ADJ NOUN [0.3] | DET NOUN PREP DET NOUN [0.1] | PRON [0.15] | NUMBER ADJ PLURAL [0.1]
VP -> VERB OBJ [0.5] | VERB OBJ PREP OBJ [0.3] | VERB OBJ LATELY [0.2]
OBJ -> DET NOUN [0.5] | DET ADJ NOUN [0.4] | DET ADJ ADJ NOUN [0.1]
ASK -> 'which' NOUN 'has' VERB OBJ [0.5] | 'why' 'should' PRON 'have' VERB OBJ [0.5]
DET -> 'the' [0.4] | 'a' [0.15] | 'his' [0.08] | 'her' [0.08] | POINT [0.29]
POINT -> 'our' [0.25] | 'their' [0.25] | 'this' [0.25] | 'that' [0.25]
PRON -> 'she' [0.2] | 'he' [0.2] | 'they' [0.2] | 'we' [0.2] | 'you' [0.1] | 'I' [0.1]
NUMBER -> 'two' [0.2] | 'three' [0.2] | 'five' [0.2] | 'eight' [0.2] | 'nineteen' [0.1] | 'forty' [0.1]
PLURAL -> 'boys' [0.2] | 'horses' [0.2] | 'cats' [0.2] | 'leaves' [0.2] | 'oranges' [0.2]
PREP -> 'in' [0.15] | 'on' [0.15] | 'at' [0.1] | 'under' [0.1] | 'with' [0.1] | AWAY [0.4]
AWAY -> 'from' [0.25] | 'by' [0.25] | 'of' [0.25] | 'through' [0.25]
JOIN -> 'and' [0.4] | 'but' [0.3] | 'because' [0.15] | 'while' [0.15]
"""


def sentences(number: int, seed: int = 0) -> list[str]:
    """Return sentences without punctuation; the same for the same seed."""
    rules = [GRAMMAR.strip()]
    for part, words in _words().items():
        rules.append(f"{SYMBOLS[part]} -> " + " | ".join(f"'{word}' [{1 / len(words):.12f}]" for word in words))
    drawn, _ = hs.PCFG.from_string("\n".join(rules)).sample(3 * number, random_state=seed)
    found = dict.fromkeys(" ".join(words) for words in drawn if 4 <= len(words) <= 14)
    return random.Random(seed).sample(list(found), number)


def _words() -> dict[str, list[str]]:
    """Return the words of each part of speech."""
    lines = WORDS.replace("\n    ", " ").strip().splitlines()
    return {name: words.split() for name, _, words in (line.partition(":") for line in lines)}
