"""Words of the safety check: what is never wanted, what is harmless in certain company, and who can be a victim.

Parts of regular expressions, in small letters, without word boundaries. Slurs stand as hashes, so that nobody has to
read them here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HARMLESS: Final = (
    # shooting and killing without a victim
    r"shooting stars?", r"shot[- ]?put(?:s|ters?|ting)?", r"shot glass(?:es)?", r"killer whales?", r"bullet trains?",
    r"kill(?:s|ed|ing)? (?:the|its|his|her|their) (?:engines?|motors?|lights?|power|ignition|throttle|speed|time)",
    r"kill switch(?:es)?", r"killing time", r"dead(?: |-)?(?:lift\w*|calm|ends?|heat|cent(?:er|re)|stop|weight|wood"
    r"|lea(?:f|ves)|trees?|branch(?:es)?|grass|ball|drop|sea|straight|level|still|ringer|bolts?|reckoning|slow)",
    # tools and toys named after weapons
    r"(?:nail|glue|heat|spray|water|staple|grease|caulk(?:ing)?|squirt|toy|massage|tattoo|air|rivet|paint|foam|hot-air"
    r"|sealant|confetti|t-shirt|bubble|price|radar|speed|silicone|soldering|tagging|nerf|laser|upholstery|blow|snow"
    r"|laser[- ]tag|starter's|starting|start|cap|light|mortar) (?:guns?|pistols?)",
    r"gun ?metal", r"gun dogs?", r"gunwales?",
    r"starter(?:'s)? (?:fires|raises|lowers)[^.]{0,20}? (?:gun|pistol)", r"bath bombs?", r"(?:seed|cherry) bombs?",
    r"(?:dive|belly|photo|water)[- ]?bomb\w*", r"bomb cyclones?", r"(?:smoke|flour) bombs?", r"bomb shelters?",
    r"(?:aerial|biplane|mock|jet) dog ?fights?",
    # bodies of animals, plants, food and minerals
    r"corpse (?:flowers?|plants?)", r"paper guillotines?", r"smoking pots?",
    r"blood(?: |-)(?:oranges?|moons?|red|worms?|hounds?|pressure|cells?|vessels?|donors?|donations?|lilies|lily|stone)",
    r"bleeding[- ]hearts?",
    r"bleed(?:s|ing)? (?:the |air |off |out of )*(?:air|brakes?|brake lines?|radiators?|valves?)",
    r"breast ?strok\w*", r"breast[- ]?(?:plates?|pockets?|bones?|feathers?)", r"(?:chicken|turkey|duck) breasts?",
    r"naked (?:eyes?|flames?|mole[- ]rats?|branch(?:es)?|trees?|twigs?|bulbs?|rock|lady|stems?)",
    r"nude (?:lipstick|colou?r\w*|shade|tone)",
    r"(?:rape|rape-?seed)(?= (?:fields?|blossoms?|flowers?|oil|seeds?|plants?))",
    r"(?:fields?|crops?|rows?) of (?:\w+ )?rape", r"(?:wire|paint|cable|varnish|bark|wallpaper) strippers?",
)  # fmt: skip
"""Phrases that are taken out before anything is looked for."""

NEVER: Final[Mapping[str, tuple[str, ...]]] = {
    "sexual": (
        r"porn\w*", r"erotic\w*", r"nudes?", r"nudity", r"nakedness", r"orgasm\w*", r"masturbat\w*",
        r"genital\w*", r"penis(?:es)?", r"vagina\w*", r"(?:have|has|having) sex",
        r"topless (?:[\w-]+ )?(?:wom[ae]n|girls?|dancers?|models?|sunbath\w*)",
        r"(?:stark|half-|completely|fully) ?naked",
        r"naked (?:[\w-]+ ){0,2}?(?:m[ae]n|wom[ae]n|girls?|boys?|child(?:ren)?|people|persons?|bod(?:y|ies)|couples?"
        r"|dancers?|swimmers?|models?|figures?|torsos?)",
        r"(?:he|she|they|m[ae]n|wom[ae]n|girls?|boys?|people|couples?|dancers?|swimmers?) (?:[\w-]+ )?naked",
        r"sex (?:acts?|scenes?|toys?|workers?)", r"sexual\w*", r"sexy", r"sexily", r"making love", r"fetish\w*",
        r"bdsm", r"hentai", r"nsfw", r"strippers?", r"strip ?teas\w*", r"strip clubs?", r"prostitut\w*",
        r"(?:her|woman's|bare|naked|exposed) breasts?",
        r"boobs?", r"(?:his|erect) cock", r"(?:her|his|bare|big|naked) ass", r"molest\w*", r"rap(?:e|es|ed|ing|ists?)",
    ),
    "gore": (
        r"gore", r"gory", r"corpses?",
        r"(?:decapitated|beheaded|dismembered|mutilated|disembowelled) (?:[\w-]+ )?(?:bod(?:y|ies)|m[ae]n|wom[ae]n)",
        r"severed (?:heads?|limbs?|arms?|hands?|legs?|fingers?|foot|feet)", r"entrails",
        r"(?:pool|pools|trail) of blood", r"blood(?:ied|y|-soaked|-stained|bath|shed)",
        r"blood (?:\w+ )?(?:pour|gush|spurt|spatter|splatter|drip|spray|ooz|run)\w*",
        r"(?:bullet|stab|gunshot|knife|gaping|open|bleeding|fatal|mortal) wounds?",
        r"dead (?:bod(?:y|ies)|m[ae]n|wom[ae]n|child(?:ren)?|soldiers?|girl|boy|person|people|baby|dogs?|cats?)",
        r"bleed(?:s|ing)? (?:to death|from (?:his|her|their))",
    ),
    "self-harm": (
        r"suicid\w*", r"self-harm\w*", r"slit(?:s|ting)? (?:his|her|their|its) (?:own )?(?:wrists?|throats?)",
        r"(?:cut|cuts|cutting) (?:his|her|their) (?:own )?wrists?",
        r"(?:jump|leap|fall|plunge)\w* to (?:his|her|their) deaths?",
    ),
    "hate": (
        r"nazis?", r"neo-nazis?", r"swastikas?", r"ku klux klan", r"kkk", r"white (?:power|suprema\w+)",
        r"ethnic cleansing",
        r"genocid\w*", r"lynch(?:es|ed|ing|ings|mob)?", r"hitler", r"racial slurs?", r"blackface",
    ),
    "violence": (
        r"(?:m[ae]n|wom[ae]n|child(?:ren)?|people|person) (?:is|are|was|were) set (?:on fire|alight|ablaze)",
        r"throats? (?:is |was )?(?:cut|slit|slashed)", r"(?:is|are|was|were|being) (?:[\w-]+ )?hanged",
    ),
    "terror and massacre": (
        r"terroris(?:ts?|m)", r"hostages?", r"massacr\w*", r"(?:mass|school) shoot\w*",
        r"(?:car|suicide|pipe|nail) bomb\w*",
        r"(?:firing|death) squads?", r"executioners?", r"torture chambers?",
    ),
    "drugs": (
        r"cocaine", r"heroin", r"meth(?:amphetamine)?s?", r"fentanyl", r"lsd", r"crack (?:pipes?|cocaine)",
        r"snort(?:s|ing)? (?:a line|lines|powder|coke)", r"inject(?:s|ing)? (?:drugs?|himself|herself)",
        r"smok(?:e|es|ing) (?:weed|crack|marijuana|cannabis|a joint|a bong|opium)", r"smokes? pot",
    ),
    "cruelty to animals": (r"cock ?fight\w*", r"dog[- ]?fighting", r"bear[- ]baiting"),
}  # fmt: skip
"""By kind: what drops a prompt wherever it stands."""

LOOK: Final[Mapping[str, tuple[str, ...]]] = {
    "weapon": (
        r"guns?", r"pistols?", r"rifles?", r"revolvers?", r"handguns?", r"shotguns?", r"machine[- ]guns?", r"grenades?",
        r"bombs?", r"missiles?", r"machetes?", r"snipers?", r"gunfire", r"gunmen|gunman", r"ammunition", r"landmines?",
    ),
    "sexual": (r"lingerie", r"seductive\w*", r"undress\w*", r"(?:her|deep|ample) cleavage", r"provocative\w*"),
    "gore": (r"blood", r"mutilat\w*", r"carcass(?:es)?", r"wounded"),
    "cruelty to animals": (r"bull ?fight\w*", r"dogfights?", r"in a dog fight"),
    "nakedness": (r"naked",),
    "killing": (r"nooses?", r"guillotin\w*", r"beheading\w*", r"decapitation\w*"),
}  # fmt: skip
"""By kind: what may be harmless; a person should look."""

GRAVE: Final = (
    "shoot", "stab", "kill", "murder", "strangle", "torture", "slaughter", "impale", "drown", "poison", "suffocate",
    "smother", "execute", "hang", "burn", "electrocute", "slash", "crucify", "assault", "kidnap", "run over",
    "decapitate", "behead", "dismember", "disembowel", "mutilate", "shoot at", "fire at",
)  # fmt: skip
"""Verbs, with a particle or without: what is grave when it is done to someone."""
ROUGH: Final = (
    "punch", "kick", "beat", "slap", "whip", "choke", "attack", "hit", "crush", "maul", "trample", "bite", "tackle",
    "run down", "strike", "butcher", "gut", "skin",
)  # fmt: skip
"""What may be sport, play or nature when it is done to someone; a person should look."""
ARMED: Final = ("aim at", "point at")
"""What is grave when it is done to someone with a weapon."""
PLAYED: Final = ("shoot", "aim", "point", "fire")
"""Of the grave ones, what is harmless in the company of sport and pictures."""
TO_ONESELF: Final = ("kill", "hang", "shoot", "stab", "drown", "poison", "strangle", "slash")
"""What is self-harm when it is done to oneself; "cut" and "burn" may be a mishap."""

PERSONS: Final = (
    "man", "woman", "person", "human", "child", "kid", "baby", "toddler", "boy", "girl", "teenager", "teen", "victim",
    "soldier", "prisoner", "hostage", "crowd", "policeman", "officer", "student", "teacher", "pedestrian", "civilian",
    "passerby", "passer-by", "stranger", "enemy", "protester", "opponent", "neighbour", "neighbor", "wife", "husband",
    "mother", "father", "brother", "sister", "friend", "guard", "thief", "intruder", "worker", "driver", "him", "them",
    "someone", "somebody", "police",
)  # fmt: skip
"""In the singular; pronouns as they are."""
ANIMALS: Final = (
    "dog", "puppy", "cat", "kitten", "horse", "foal", "deer", "cow", "cattle", "bull", "calf", "pig", "lamb", "sheep",
    "goat", "rabbit", "elephant", "lion", "bear", "wolf", "fox", "monkey", "bird", "duck", "goose", "animal", "whale",
    "seal", "zebra", "antelope", "gazelle", "mouse", "rat", "donkey", "camel",
)  # fmt: skip
MINORS: Final = (
    "child", "kid", "baby", "toddler", "boy", "girl", "teen", "teenager", "schoolgirl", "schoolboy", "minor",
    "adolescent", "infant", "underage", "teenage",
)  # fmt: skip
SPORT: Final = (
    "basketball", "football", "soccer", "ball", "puck", "hoop", "goal", "goalkeeper", "goalie", "ring", "boxer",
    "boxing", "karate", "karateka", "judo", "judoka", "wrestler", "wrestling", "fencer", "fencing", "sparring",
    "taekwondo", "martial", "rugby", "glove", "dojo", "mat", "pillow", "snowball", "photo", "photograph", "portrait",
    "cameraman", "tripod", "film", "video", "camera", "photographer", "paintball", "arcade", "tag",
    "tennis", "badminton", "chess", "race", "hockey", "lacrosse", "water-polo", "padded",
)  # fmt: skip
"""Company in which people are shot at, hit or tackled in sport, play or pictures."""

TOYS: Final = (
    r"(?:water|squirt|toy|nerf|laser[- ]tag|confetti|bubble|foam) (?:guns?|pistols?|blasters?)", r"garden hoses?",
)  # fmt: skip
"""As parts of regular expressions: weapons of play, which are harmless company likewise."""

SLURS: Final = frozenset(
    (
        "120f6e5b4ea32f65",
        "08a841e996781e9e",
        "c3de533e9b7fe63b",
        "8f5083e3e5c7dc89",
        "16ea09fc78ca83ca",
        "eef3bd091670c344",
        "22fc75e65a0e9d34",
        "cc02032349c833ac",
        "3b1e0d7c5dd45583",
    )
)
"""SHA-256 of slurs in the singular, shortened to 16 digits."""
