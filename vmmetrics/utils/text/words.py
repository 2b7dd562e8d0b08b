"""Word classes of the subject rule, made for prompts rather than for English at large."""

from __future__ import annotations


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text, each once."""
    return frozenset(text.split())


SINGULAR_DETERMINERS = words_of("a an one this that each every another")
DETERMINERS = SINGULAR_DETERMINERS | words_of(
    "the these those some several many few both all two three four five six seven eight nine ten eleven twelve "
    "dozens hundreds thousands multiple various numerous countless his her its their my our your any no 2 3 4 5 "
    "6 7 8 9 10"
)
PREPOSITIONS = words_of(
    "of in on at by with without from to into onto over under above below behind beside besides between among "
    "amid amidst across along around through throughout toward towards near next against inside outside within "
    "upon up down off out past after before during for as like about beneath beyond underneath via atop "
    "alongside"
)
SUBORDINATORS = words_of("while when whilst as once")
BOUNDARIES = words_of("and or but who which that whose where while when whilst then so because to not if than")
AUXILIARIES = words_of(
    "is are was were be been being am has have had does do did can could will would shall should may might must 's"
)
ADVERBS = words_of(
    "then now slowly quickly suddenly just also back away together still again alone forward backward here "
    "always never clockwise counterclockwise counter-clockwise nearby"
)
LY_NOUNS = words_of(
    "fly butterfly dragonfly firefly family belly jelly lily bully ally assembly monopoly curly woolly lovely "
    "elderly friendly ugly silly lonely"
)
PRONOUNS = {
    "he": "man", "she": "woman", "someone": "person", "somebody": "person", "i": "person", "we": "people",
    "they": "people", "you": "person", "everyone": "people",
}  # fmt: skip

SHOTS = words_of(
    "video videos shot footage clip view scene close-up closeup close-ups photo photograph image picture "
    "animation timelapse time-lapse film movie portrait camera recording render rendering gif vlog cartoon "
    "anime sequence hyperlapse snapshot"
)
SHOT_MODIFIERS = words_of(
    "close up first third person slow motion aerial drone wide angle medium tracking handheld low high "
    "first-person third-person pov cinematic realistic photorealistic hd 4k 8k stop-motion slow-motion fpv "
    "bird's-eye bird’s-eye bird's bird’s eye establishing panning zoom macro top-down overhead underwater 3d 2d "
    "black-and-white animated hyper-realistic side front rear full body extreme steady static fast time lapse "
    "vertical ultra"
)
SHOT_LINKS = words_of(
    "of showing shows featuring features depicting depicts where capturing captures following follows over "
    "around across through towards toward to on into with at captured : ,"
)
GROUPS = words_of(
    "group pair couple flock herd crowd bunch school team swarm pack line row number set family herd variety "
    "series pile collection stack dozen dozens hundreds thousands lot lots cluster bouquet colony shoal band "
    "army gaggle litter kind type"
)
ADJECTIVES = words_of(
    "young old little small big large tall short fat thin beautiful pretty handsome cute happy sad angry red "
    "orange yellow green blue purple pink brown black white grey gray golden gold silver dark light bright pale "
    "colorful colourful wild fluffy furry hairy bald blonde blond brunette asian african american european "
    "chinese japanese indian french italian german british male female elderly middle-aged wooden metal glass "
    "stone plastic modern ancient vintage huge tiny giant enormous massive long slim muscular strong weak fast "
    "slow quick lone lonely single friendly playful majestic elegant graceful adorable professional skilled "
    "fresh ripe hot cold warm wet dry clean dirty new busy quiet calm rough smooth soft hard round square flat "
    "sharp shiny empty full open heavy local famous cheerful curious brave fierce mighty baby adult curly "
    "straight lovely ugly silly woolly humanoid robotic futuristic magical mysterious transparent striped "
    "spotted barefoot pregnant teenage bearded domestic stray homeless rusty classic traditional tropical "
    "arctic polar"
)
ING_NOUNS = words_of(
    "king ring wing string swing building painting ceiling spring morning evening wedding lightning clothing "
    "duckling sibling dumpling darling earring being human-being thing sling viking gosling fledgling hatchling "
    "pudding railing racing-car boxing-ring seedling sapling offspring"
)
ED_NOUNS = words_of("bed seed weed reed shed sled speed breed steed moped biped quadruped centipede feed bobsled")
S_NOUNS = words_of(
    "bus grass glass dress lens gas octopus cactus walrus hippopotamus rhinoceros tennis chess gymnastics "
    "princess actress waitress hostess boss cross mattress compass christmas albatross scissors glasses jeans "
    "trousers pants shorts sports sunglasses headphones athletics physics ballerina's molasses swiss paris "
    "sales arms news cheerios"
)
NOUNLIKE_ADJECTIVES = words_of(
    "glass metal stone plastic gold silver light baby adult giant male female square round human blonde blond "
    "brunette elder"
)
VERBS = words_of(
    "walk run jump sit stand dance swim fly ride drive play eat drink sing cook cut hold throw catch kick hit "
    "push pull climb crawl roll turn spin rotate move look watch smile laugh cry talk speak read write draw "
    "paint work sleep wake lie fall rise float sail row dive surf ski skate slide skateboard snowboard cycle "
    "bike race chase follow lead carry lift drop pour stir mix bake chop slice peel wash clean brush comb wear "
    "put take give show open close shut break build make grow bloom blossom burn melt freeze exchange boil "
    "explode crash fight box wrestle punch hug kiss wave clap point nod shake stretch bend twist squat kneel "
    "stroll wander march hop skip leap gallop trot graze hunt pounce bark meow howl roar chirp peck flap soar "
    "glide hover land take-off emerge appear disappear vanish enter leave exit arrive approach pass cross "
    "travel flow drip splash swirl drift sway swing bounce juggle dribble shoot score serve toss pitch bowl bat "
    "practice practise perform train exercise lunge pedal paddle row fish gather pick plant dig rake sweep mop "
    "fold iron sew knit weave type call text film photograph record stare gaze glance peek peer hide seek "
    "search find explore discover examine inspect touch tap pet feed groom stroke scratch lick bite chew sniff "
    "yawn blink wink breathe blow whistle sneeze cough shiver tremble struggle rest relax lean recline lounge "
    "wait stop start begin continue keep try learn teach help meet greet celebrate cheer compete win lose enjoy "
    "love want prepare arrange decorate assemble repair fix use operate navigate steer hike jog sprint dash "
    "rush speed zoom hurry stumble trip slip tumble flip somersault cartwheel twirl pirouette pose bow salute "
    "pray meditate chat argue discuss debate whisper shout scream yell sell buy shop pay collapse crumble "
    "shatter erupt shine glow sparkle twinkle flicker flash fade change transform morph merge expand shrink "
    "inflate deflate unfold unwrap spread scatter rain snow storm pan zoom orbit circle lap crowd fill cover "
    "surround raise lower tilt knead squeeze press grab grasp reach release tie untie wrap pack unpack load "
    "unload park reverse accelerate brake tow deliver drag haul sink bathe splash wade drown rescue save attack "
    "defend guard protect flee escape run-away sneak creep stalk prowl perch nest swoop migrate slither wriggle "
    "burrow nibble munch gobble sip slurp swallow taste serve smell hear listen feel think dream study strum "
    "drum conduct compose rehearse act pretend mime wield balance dangle hang descend ascend launch lift-off "
    "blast tick chime ring beat pulse vibrate wobble tip spill spray sprinkle drizzle garnish grill fry roast "
    "flutter nuzzle cuddle snuggle fetch retrieve frolic romp scamper scurry waddle hatch"
)
PAST_FORMS = words_of(
    "ran sat stood swam flew rode drove ate drank sang held threw caught hit fell rose lay slept spoke wrote "
    "drew took gave made grew broke froze fought shook bent leapt left went came saw got won lost met kept "
    "began spun swung slid rang hung sank sped wore put seen worn made shown held taken given driven ridden "
    "caught covered surrounded dressed seated filled flown"
)
AFTER_VERB = (
    DETERMINERS | PREPOSITIONS | BOUNDARIES | ADVERBS | words_of(", . ; : ! ?") | frozenset([""])
)  # what shows that the word before was a verb
