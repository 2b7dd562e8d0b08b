"""Word lists for distinctions that grammar alone does not make, in the singular; all lists are ours.

A dependency parse says that "in the kitchen", "in the morning", "in circles" and "in a red coat" are built alike;
what they mean hangs on the noun.
"""

from __future__ import annotations

from vmmetrics.utils.text.words import words_of

FRAMES = words_of(
    "shot video view footage scene closeup close-up image photo photograph picture clip animation film movie "
    "timelapse time-lapse render rendering illustration painting drawing sketch depiction portrait perspective frame "
    "snapshot gif lapse loop sequence recording montage slow-motion cartoon moment angle selfie screenshot "
    "visualization visualisation"
)
"""Nouns for views of a scene: "a drone shot of a river" is about the river."""

NOT_SUBJECTS = FRAMES | words_of(
    "camera background foreground style quality resolution lens detail lighting mood atmosphere concept prompt "
    "caption sense feeling vibe effect composition focus depth text logo title word thing something anything nothing "
    "everything time day morning evening afternoon night dawn dusk sunrise sunset midday year month week hour minute "
    "second way kind type sort lot middle top bottom side edge end part front back left right center centre corner "
    "motion movement action activity speed laughter expression gaze scenery spot sound attention color colour "
    "posture laugh smile rhythm presence conversation voice excitement joy emotion concentration anticipation "
    "determination energy enthusiasm look stare giggle chatter applause cheer cheering step stride move turn walk "
    "leap jump spin twirl flip dance gait grip stance gesture performance scene setting beauty skill technique "
    "effort strategy attempt goal idea memory thought mind imagination dream hope love silence noise music melody "
    "song tune hue shade pattern texture contrast reflection sunlight-effect tone theme story world life reality "
    "experience event game match elegance grace agility precision passion tension serenity tranquility air ambiance "
    "ambience view landscape skyline horizon pose routine choreography display show spectacle example version result "
    "task work job play fun running dancing singing playing presentation demonstration anger sadness fear surprise "
    "happiness pride aroma scent smell taste sensation"
)
"""Nouns in subject position that cannot move."""

QUANTITIES = words_of(
    "lot couple pair number bunch handful dozen hundred thousand million variety kind type sort piece bit few series "
    "plenty load ton majority rest half set some several many multiple"
)
"""Quantities before "of"; the subject is the noun that follows."""

COLLECTIVES = words_of(
    "flock herd swarm school shoal pack colony crowd group team troupe convoy fleet cluster pile stack row line band "
    "squadron gaggle murmuration pod pride litter crew column cloud procession parade army squad troop party gang "
    "mob throng bevy brood raft skein chain caravan queue family trio quartet duo formation stream drop droplet jet "
    "plume sheet wall trail spray wave ring circle shower heap mass burst puff wisp string cascade river torrent "
    "gust blanket"
)
"""Collectives before "of"; they are the subject, and the noun that follows names their members."""

PLACE_PARTS = words_of(
    "top edge middle center centre side bottom front back end corner surface heart foot base rest rim tip face mouth "
    "outskirts bank depths depth length midst inside outside interior"
)
"""Parts of a place before "of" ("the edge of a cliff")."""

PRONOUNS = words_of("he she it they we i you who which that this these those one them him her us what whose whom")
PEOPLE_PRONOUNS = words_of("someone somebody anyone anybody everyone everybody")

TIMES = words_of(
    "time day morning evening afternoon night midnight noon dawn dusk sunrise sunset twilight midday year month week "
    "hour minute second moment while spring summer autumn fall winter season christmas halloween weekend today "
    "tonight yesterday tomorrow monday tuesday wednesday thursday friday saturday sunday january february march "
    "april may june july august september october november december century decade period rush daytime nighttime "
    "daylight instant"
)

BODY = words_of(
    "hand finger thumb arm leg foot toe head face eye ear nose mouth lip tooth tongue hair neck shoulder back chest "
    "belly stomach knee elbow wrist ankle hip tail wing paw claw beak bill fin trunk horn mane fur feather palm fist "
    "lap cheek chin forehead skin body hoof antler shell snout muzzle whisker jaw throat waist fingertip fingernail "
    "tentacle"
)

CLOTHES = words_of(
    "shirt t-shirt dress coat jacket suit uniform hat cap helmet costume outfit jean pants trouser skirt sweater "
    "hoodie robe kimono gown apron boot shoe sneaker sock glove scarf vest sunglasses goggles wetsuit swimsuit "
    "bikini armor armour clothes clothing attire gear leotard tutu sari cloak backpack headphone blouse overalls "
    "kilt raincoat jersey spacesuit pajamas tuxedo"
)

MANNERS = words_of(
    "circle line row formation unison pattern motion slow-motion fashion manner way style rhythm sync harmony place "
    "direction turn order pair group spiral arc loop zigzag figure sequence silence hurry rush speed pace distance "
    "air background foreground frame focus view sight front behind detail color colour black white slow love peace "
    "action movement half piece shape form size height angle time beat music song tune flame fire joy anger fear "
    "excitement smile laughter effort ease care grace precision force power help result response case fact addition "
    "general person people man woman child boy girl dog cat other camera each another all viewer audience team "
    "family friend opponent partner attempt resolution quality hd 4k 8k cinematic upright"
)
"""Nouns after a preposition that give manner, extent or company, never a place."""

NOT_LOCATIVE = TIMES | BODY | MANNERS | CLOTHES | FRAMES

SPATIAL = words_of(
    "in on at through across over under along down up past into onto beside near beneath above around between among "
    "amongst inside outside behind by from off toward towards within throughout underneath below amid amidst against "
    "atop via alongside upon out before aboard"
)
"""Prepositions that may introduce a place."""

WITHIN = words_of("inside outside throughout within aboard")
"""Prepositions that nearly always introduce a place."""

LOCATIVE_HEADS = words_of(
    "abbey aisle airfield airport airstrip alcove alley alleyway altar amphitheater amphitheatre apartment aquarium "
    "arcade archway arena arctic arroyo asphalt atrium attic auditorium avenue backyard badlands bakery balcony "
    "ballroom bank bar barn barnyard basement bath bathroom bathtub bay bayou bazaar beach bed bedroom bench "
    "boardwalk bog booth boulevard brewery bridge brook building bunker bush bushes cabin cafe café cafeteria "
    "campfire campground camp campsite campus canal canopy canyon carnival carpet casino castle cathedral cave "
    "cavern ceiling cellar cemetery chapel church cinema circus city cityscape classroom clearing cliff cliffside "
    "clinic cloakroom club coast coastline cockpit conservatory corridor cottage counter countertop countryside "
    "course court courtroom courtyard cove crater creek crevasse crosswalk crossroads dam deck delta den desert desk "
    "diner ditch dock docks dojo doorway downtown driveway dugout dune dungeon dunes earth escalator estuary fair "
    "fairground farm farmhouse farmland farmyard factory field fireplace firepit fjord floodplain floor foothill "
    "footpath ford forest forge fort foundry fountain foyer freeway funfair gallery garage garden gate geyser "
    "glacier glade glen gorge grass grassland gravel greenhouse grove ground gulch gulf gully gutter gym gymnasium "
    "habitat hall hallway hangar harbor harbour hayfield haystack heath hedge highway hill hillside hilltop home "
    "horizon hospital hotel house hut ice iceberg inlet intersection island jetty jungle kennel kitchen lab "
    "laboratory lagoon lake lakeside lakeshore landfill landscape lane lawn ledge library lighthouse lobby lodge "
    "loft lounge mall mansion marina market marketplace marsh marshland mat meadow mesa mezzanine mill mine "
    "monastery monument moon moor moorland mosque mountain mountainside mud mudflat museum nest nursery oasis ocean "
    "office orchard outback outdoors indoors oven paddock paddy pagoda palace park parking parkland parlor parlour "
    "pasture path pathway patio pavement pavilion peak peninsula perch pier pit pitch plain plains planet plantation "
    "platform playground plaza pond pool porch port prairie precipice promenade prison pub puddle quarry quay "
    "quayside racecourse racetrack raceway railroad railway rainforest ramp ranch rapids ravine reef reservoir "
    "restaurant ridge rink river riverbank riverbed riverside road roadside roof rooftop room roundabout ruin ruins "
    "runway salon saloon sanctuary sand sandbank sandbox sandpit savanna savannah sawmill school schoolyard sea "
    "seabed seafloor seashore seaside sewer shallows shed shipyard shoal shop shore shoreline sidewalk sink sky "
    "skyline skatepark slope snow snowbank snowfield soil space spa spacecraft square stable stadium stage stair "
    "staircase stairs stairway stairwell station steppe store stove strait stream street studio suburb subway summit "
    "supermarket surf swamp table tableland tabletop tarmac taiga tank tavern temple tent terrace terrain theater "
    "theatre tide tomb tower town track trackside trail trailhead treadmill tree treetop trench tundra tunnel "
    "underpass underwater universe university vale valley vault vegetation verandah veranda viaduct village villa "
    "vineyard void volcano wall ward warehouse wasteland water waterfall waterfront waterhole waters waterway waves "
    "wetland wharf windowsill wilderness woodland woods workbench workshop worksite world yard zoo rock rocks "
    "cobblestone mound leaves branch branches cloud clouds burrow hive web anthill crops wheat corn cornfield reeds "
    "reed seagrass coral kelp velodrome trampoline treehouse windmill site crossing pantry kiosk stall cage "
    "enclosure pen aviary terrarium couch sofa rug sill shelf hob stovetop conveyor grill hearth lock weir spillway "
    "outcrop boulder scree moraine icefield snowscape seascape stratosphere atmosphere orbit backstage sideline"
)
"""Head nouns of places."""

LOCATIVE_ENDINGS = (
    "yard", "house", "field", "shop", "room", "land", "side", "ground", "park", "scape", "front", "bank"
)  # fmt: skip
"""Endings of closed compounds for places ("boatyard", "glasshouse")."""

PLURAL_LOCATIVES = words_of(
    "woods rapids falls ruins docks stairs sands suburbs plains wetlands badlands shallows tracks waves clouds "
    "bushes outdoors leaves reeds stands rocks crops dunes outskirts crossroads gallows barracks springs highlands "
    "lowlands waters steps branches"
)
"""Places whose name is a plural."""

STATIVE = words_of(
    "be have see show feature wear seem contain depict include want like love know need own belong resemble "
    "represent exist remain possess consist involve prefer believe think feel mean cost lack deserve hate understand "
    "remember portray illustrate display showcase capture film record highlight describe title call name base let "
    "get do can will would should may might must could dress surround cover fill locate situate stay wait watch look "
    "enjoy create use make give try suggest evoke reflect ensure maintain add allow embody mirror complement enhance "
    "accentuate emphasize emphasise await expect hope concentrate prepare continue focus symbolize convey express "
    "reveal grow-into inspire invite offer provide require seek share"
)
"""Verbs of states or of showing, without motion of their subject."""

PHASES = words_of(
    "start begin continue keep stop try attempt want go come proceed appear seem see show film prepare get learn "
    "help manage struggle love like let be watch use finish quit resume refuse decide happen tend need pretend"
)
"""Verbs whose subject is that of the verb they govern ("starts running", "is seen walking")."""

REQUESTS = words_of(
    "create make generate show imagine animate produce give draw render film depict design visualize visualise "
    "illustrate picture capture"
)
"""Imperatives of prompts, whose object is the subject."""

CAMERA_WORDS = words_of("camera lens cameraman")
"""Nouns for the camera, also in compounds, which are never the subject ("the camera pans")."""

ADJECTIVES_IN_ING = words_of(
    "interesting amazing stunning living breathtaking exciting charming mesmerizing mesmerising surrounding missing "
    "existing following leading outstanding relaxing captivating fascinating enchanting looking boring surprising "
    "astonishing striking overwhelming soothing calming imposing inviting sprawling winding matching remaining aging "
    "ageing upcoming ongoing evening morning towering darling young cunning welcoming haunting loving caring "
    "terrifying menacing threatening annoying promising closing opening wedding"
)
"""Adjectives in -ing before a noun; "a winding road" does not move."""

NOUNS_IN_ING = words_of(
    "building painting drawing ceiling string king ring spring wing thing lightning clothing morning evening wedding "
    "railing sling swing crossing clearing opening landing meeting greeting gathering ending beginning earring "
    "stocking duckling gosling seedling sapling pudding dumpling icing lining coating carving setting training "
    "parking housing awning siding flooring bowling boxing wrestling blessing being herring viking sibling filling "
    "ping topping dressing engraving etching recording offering bearing tubing piping plumbing scaffolding wiring"
)
"""Nouns in -ing for things, never participles."""

MODIFIER_NOUNS = words_of(
    "orange red blue green white black grey gray brown yellow pink purple golden gold silver turquoise crimson "
    "scarlet beige teal amber chestnut cream ivory wood metal steel glass plastic stone rubber cotton leather brick "
    "concrete bronze copper marble baby male female adult toddler teenage giant cartoon toy-like pet mini miniature "
    "monster bright wild spring summer autumn fall winter morning evening night"
)
"""Nouns in compounds that describe the thing (colour, material)."""

DIRECTIONS = words_of(
    "up down away back forward forwards backward backwards upward upwards downward downwards around apart together "
    "sideways overhead off out over along past inward outward inwards outwards left right aside ahead by through "
    "across upstream downstream skyward uphill downhill ashore aloft underwater round about open shut loose"
)
"""Adverbs of direction, part of the action."""

NOT_MANNERS = words_of(
    "then now today again still just also very too so here there even almost about soon later once only already "
    "finally suddenly while when where how as not n't never often always together-with well nearby meanwhile "
    "eventually maybe perhaps really quite more most less least twice thus however afterwards"
)
"""Adverbs that do not describe a motion."""

PERSON_WORDS = {"people": "person", "men": "man", "women": "woman", "children": "child", "folk": "person"}
"""Lemmas of plural nouns for persons that the models do not reduce."""

NAMES = frozenset((
    "arctic fox", "bald eagle", "black hole", "blue whale", "brown bear", "bullet train", "double bass", "dry ice",
    "electric guitar", "fishing boat", "fishing rod", "flying fish", "frying pan", "golden eagle",
    "golden retriever", "great white shark", "grizzly bear", "guinea pig", "hot air balloon", "hot dog",
    "humming bird", "ice cream", "killer whale", "manta ray", "monarch butterfly", "mountain goat",
    "polar bear", "praying mantis", "racing car", "rattlesnake", "red panda", "remote control", "rocking chair",
    "rolling pin", "rowing boat", "running shoe", "sailing boat", "sailing ship", "sewing machine", "shooting star",
    "spinning top", "spinning wheel", "swimming pool", "toy car", "tree frog", "vending machine", "washing machine",
    "water buffalo", "wild boar", "wrecking ball",
))  # fmt: skip
"""Names whose first word is tagged as an adjective or participle; metadata adds its own."""

LEMMAS = {word: f"{word}e" for word in ("shin", "rid", "shak", "wav", "pil", "div", "glid")} | {"ringe": "ring"}
"""Base forms that the models' rules get wrong."""
